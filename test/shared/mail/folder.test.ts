import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMailer } from '../../../shared/mail/mailer.ts';
import { readMail } from '../../support/mail/mime.ts';
import { tempFolder } from '../../support/world.ts';
import { FROM, SECRET, sampleMail, TO } from './sample.ts';

function mailerTo(folder: string, from: string | null = null) {
  return createMailer({ kind: 'folder', folder }, from);
}

test('a mail becomes one file, named by time, kind and key, that only its owner can read', async () => {
  const folder = join(tempFolder(), 'new', 'mail');
  expect(await mailerTo(folder).send(sampleMail())).toEqual({ outcome: 'accepted' });
  const names = readdirSync(folder);
  expect(names).toEqual([expect.stringMatching(/^\d{8}T\d{6}\.\d{3}Z-approval-k7Qm2XaB\.eml$/)]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, names[0] as string)).mode & 0o777).toBe(0o600);
});

test('the file is the whole message, and grep finds the secret in it', async () => {
  const folder = join(tempFolder(), 'mail');
  await mailerTo(folder).send(sampleMail());
  const raw = readFileSync(join(folder, readdirSync(folder)[0] as string), 'utf8');
  expect(readMail(raw)).toMatchObject({ text: sampleMail().text, html: sampleMail().html });
  expect(raw).not.toContain('\r');
  expect(/plk_[0-9A-Za-z]*_[0-9A-Za-z]*/.exec(raw)?.[0]).toBe(SECRET);
  // A person who opens the file can copy the command line: it is not broken up.
  expect(raw).toMatch(/^\(trap .*\/api\/key'\)$/m);
});

test('mails that are written at the same moment are a file each', async () => {
  const folder = join(tempFolder(), 'mail');
  const mailer = mailerTo(folder);
  const bodies = Array.from({ length: 30 }, (_, at) => `Mail number ${at}.`);
  await Promise.all(bodies.map((text) => mailer.send(sampleMail({ identifier: '', text, html: null }))));
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

test('an identifier cannot lead out of the folder', async () => {
  const folder = join(tempFolder(), 'mail');
  await mailerTo(folder).send(sampleMail({ identifier: '../../k7' }));
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/-approval-k7\.eml$/)]);
});

test('a folder that cannot be is a refusal for good that names it, and nothing is left behind', async () => {
  const parent = tempFolder();
  writeFileSync(join(parent, 'file'), '');
  const delivery = await mailerTo(join(parent, 'file')).send(sampleMail());
  expect(delivery).toMatchObject({ outcome: 'refused', permanent: true });
  expect(delivery).toHaveProperty('reason', expect.stringContaining(`the folder ${join(parent, 'file')} (`));
  expect(JSON.stringify(delivery)).not.toContain(TO);
  expect(readdirSync(parent)).toEqual(['file']);
});

test('a folder that nobody may make is a refusal too', async () => {
  const sent = await mailerTo('/proc/profile-lookup-mails').send(sampleMail());
  expect(sent).toMatchObject({ outcome: 'refused', permanent: true });
});
