import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startBrokenSmtp, startSmtp } from '../../support/mail.ts';
import { tempFolder } from '../../support/world.ts';
import { runCommand } from '../commands.ts';

const MAIL_FROM = 'keys@example.net';

function send(MAIL_URL: string, ...words: string[]) {
  const variables = { MAIL_URL, MAIL_FROM, PUBLIC_URL: 'https://lookup.example.org' };
  return runCommand(['mail', 'test', 'ada@example.org', ...words], { variables });
}

test('mail test succeeds if the mail server accepts the mail, which names the service (exit code 0)', async () => {
  const smtp = await startSmtp({ login: { user: 'bob', password: 'hunter2' } });
  const done = await send(smtp.url);
  const stdout = `127.0.0.1:${smtp.port} accepted the mail to ada@example.org.\n`;
  expect(done).toEqual({ code: 0, stdout, stderr: '' });
  expect(smtp.received).toMatchObject([{ from: MAIL_FROM, to: ['ada@example.org'], session: { user: 'bob' } }]);
  expect(smtp.received[0]?.raw).toContain('https://lookup.example.org');
  const json = await send(smtp.url, '--json');
  expect(JSON.parse(json.stdout)).toEqual({ to: 'ada@example.org', accepted: true, server: `127.0.0.1:${smtp.port}` });
});

test('mail test writes the mail to the folder in MAIL_URL (exit code 0)', async () => {
  const folder = join(tempFolder(), 'mails');
  expect(await send(`file:${folder}`)).toMatchObject({ code: 0, stdout: `Written to the folder ${folder}.\n` });
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/^\d{8}T\d{6}\.\d{3}Z-test\.eml$/)]);
});

test('mail test reports a permanent refusal, and what to do about it (exit code 1)', async () => {
  const smtp = await startSmtp({ login: { user: 'bob', password: 'hunter2' } });
  const wrong = await send(smtp.url.replace('hunter2', 'wrong-password'));
  expect(wrong.stderr).not.toContain('wrong-password');
  expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('check the user and password') });
  smtp.failures.rcpt = '550 5.1.1 no such user';
  expect(await send(smtp.url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("check the recipient's e-mail address."),
  });
});

test('mail test reports a temporary refusal, or that the mail server is down (exit code 75)', async () => {
  const smtp = await startSmtp({ failures: { mail: '450 4.2.0 try later' } });
  expect(await send(smtp.url)).toMatchObject({ code: 75, stderr: expect.stringContaining('try again later') });
  await smtp.stop();
  expect(await send(smtp.url)).toMatchObject({
    code: 75,
    stderr: expect.stringContaining("can't be reached (ECONNREFUSED)"),
  });
});

test('mail test says that the mail may or may not arrive if the connection breaks before it is accepted (exit code 75)', async () => {
  const smtp = await startBrokenSmtp({ dot: 'close' });
  const done = await send(`smtp://127.0.0.1:${smtp.port}`);
  expect(done).toMatchObject({ code: 75, stderr: expect.stringContaining('may or may not arrive') });
});

test('mail test refuses an invalid address and a list of addresses (exit code 2), and a missing MAIL_URL (exit code 1)', async () => {
  for (const address of ['ada', 'a@example.org,b@example.org', 'a@example.org\r\nBcc: b@example.org']) {
    const run = await runCommand(['mail', 'test', address], { variables: { MAIL_URL: `file:${tempFolder()}` } });
    expect(run).toMatchObject({ code: 2, stdout: '' });
  }
  const unset = await runCommand(['mail', 'test', 'a@example.org']);
  expect(unset).toMatchObject({ code: 1, stderr: expect.stringContaining('MAIL_URL is not set') });
});
