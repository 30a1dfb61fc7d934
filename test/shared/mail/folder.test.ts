import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMailer } from '../../../shared/mail/send.ts';
import { tempFolder } from '../../support/world.ts';
import { FROM, readMail, SECRET, sampleMail, TO } from './sample.ts';

function mailerTo(folder: string, from: string | null = null) {
  return createMailer({ kind: 'folder', folder }, from);
}

test('a mail is one file, named by time, kind and key, that only its user can read', async () => {
  const folder = join(tempFolder(), 'new', 'mail');
  expect(await mailerTo(folder).send(sampleMail())).toEqual({ outcome: 'accepted' });
  const names = readdirSync(folder);
  expect(names).toEqual([expect.stringMatching(/^\d{8}T\d{6}\.\d{3}Z-approval-k7Qm2XaB\.eml$/)]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, names[0] as string)).mode & 0o777).toBe(0o600);
});

test('the file contains the whole message, and grep finds the secret in it', async () => {
  const folder = join(tempFolder(), 'mail');
  await mailerTo(folder).send(sampleMail());
  const raw = readFileSync(join(folder, readdirSync(folder)[0] as string), 'utf8');
  expect(readMail(raw)).toMatchObject({ text: sampleMail().text });
  expect(raw).not.toContain('\r');
  expect(/plk_[0-9A-Za-z]*_[0-9A-Za-z]*/.exec(raw)?.[0]).toBe(SECRET);
  // The command line is on one line, so that it can be copied from the file.
  expect(raw).toMatch(/^\(trap .*\/api\/key'\)$/m);
});

test('mails that are written at the same time get different files', async () => {
  const folder = join(tempFolder(), 'mail');
  const mailer = mailerTo(folder);
  const bodies = Array.from({ length: 30 }, (_, at) => `Mail number ${at}.`);
  await Promise.all(bodies.map((text) => mailer.send(sampleMail({ identifier: '', text }))));
  const texts = readdirSync(folder).map((name) => readMail(readFileSync(join(folder, name), 'utf8')).text.trim());
  expect(texts.sort()).toEqual(bodies.sort());
});

test('without MAIL_FROM the sender is an address of this machine', async () => {
  for (const [from, address] of [
    [null, 'profile-lookup@localhost'],
    [FROM, FROM],
  ] as const) {
    const folder = join(tempFolder(), 'mail');
    await mailerTo(folder, from).send(sampleMail());
    const raw = readFileSync(join(folder, readdirSync(folder)[0] as string), 'utf8');
    expect(readMail(raw).headers.get('from')).toBe(`Profile Lookup <${address}>`);
  }
});

test('an identifier can’t lead out of the folder', async () => {
  const folder = join(tempFolder(), 'mail');
  await mailerTo(folder).send(sampleMail({ identifier: '../../k7' }));
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/-approval-k7\.eml$/)]);
});

test('an unusable folder is a permanent refusal that names it, and leaves no file', async () => {
  const parent = tempFolder();
  writeFileSync(join(parent, 'file'), '');
  const delivery = await mailerTo(join(parent, 'file')).send(sampleMail());
  expect(delivery).toMatchObject({ outcome: 'refused', permanent: true });
  expect(delivery).toHaveProperty('reason', expect.stringContaining(`the folder ${join(parent, 'file')} (`));
  expect(JSON.stringify(delivery)).not.toContain(TO);
  expect(readdirSync(parent)).toEqual(['file']);
});
