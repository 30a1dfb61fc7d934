import { beforeEach, describe, expect, test } from 'bun:test';
import { performAndSend } from '../../../cli/keys/context.ts';
import type { Person } from '../../../shared/actor.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { write } from '../../../shared/db/write.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { addEnrolmentNotice, addSignInNotice } from '../../../shared/outbox/people.ts';
import { dropRestoredNotices } from '../../../shared/upkeep/delivery/store.ts';
import { readStatus } from '../../../shared/upkeep/status.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { DESCRIPTION, issue, request } from '../../support/keys.ts';
import { sendDueNotices } from '../../support/mail/notices.ts';
import { startSmtp } from '../../support/mail/smtp.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

const PUBLIC_URL = 'https://profiles.example.org';
const OWNER = { kind: 'owner', name: 'owner', profileId: 1 } as const;
const SIGN_IN = { profileId: 1, address: '192.0.2.7', agent: 'Firefox on Linux' };

const smtp = await startSmtp();
const variables = { PUBLIC_URL, MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org', ADMIN_EMAIL: 'root@example.net' };
let clock = testClock();
let deps = testDeps({ clock, variables });
let log: string[] = [];

beforeEach(() => {
  clock = testClock();
  deps = testDeps({ clock, variables });
  log = [];
  insertProfile(deps.db);
  smtp.received.length = 0;
  for (const name of Object.keys(smtp.failures)) delete smtp.failures[name as keyof typeof smtp.failures];
});

const sendDue = () => sendDueNotices(deps, (level, text) => void log.push(`${level}: ${text}`), false);
const signIn = () => write(deps.db, (tx) => addSignInNotice(tx, deps.config, { ...SIGN_IN, atMs: clock.nowMs() }));
const enrol = () =>
  write(deps.db, (tx) =>
    addEnrolmentNotice(tx, deps.config, { admin: 'Grace', address: '192.0.2.8', atMs: clock.nowMs() }),
  );
const stored = () => JSON.stringify(deps.db.$client.query('SELECT * FROM notices').all());

/** The mails since the last call: recipient, subject, and the text in one line. */
function mailed() {
  return smtp.received.splice(0).map(({ to, raw }) => ({
    to: to[0],
    subject: /^Subject: (.*)\r$/m.exec(raw)?.[1],
    text: raw.slice(0, raw.indexOf('text/html')).replace(/=\r\n/g, '').replace(/\s+/g, ' '),
  }));
}

describe('an operation in an owner’s name', () => {
  const ask = (by: Person) =>
    performAndSend(deps, by, OPERATIONS.request, {
      profile: 'user1',
      name: 'Bot',
      description: DESCRIPTION,
      permissions: ['api.lookup'],
    });
  const toOwner = () => mailed().filter(({ to }) => to === 'owner1@example.org');

  test('is mailed to the owner: a request, a renaming and a revocation, each with the page that revokes the key', async () => {
    const { identifier, warning } = await ask(OWNER);
    expect(warning).toBeNull();
    await performAndSend(deps, OWNER, OPERATIONS.edit, { identifier, name: 'Better bot' });
    const [asked, renamed] = toOwner();
    expect(asked?.subject).toBe(`API key ${identifier} was requested for your profile`);
    expect(asked?.text).toContain(`${PUBLIC_URL}/developers/keys/${identifier}`);
    expect(asked?.text).toContain(`${PUBLIC_URL}/developers/sessions`);
    expect(renamed?.subject).toBe(`Your API key ${identifier} was renamed`);
    expect(renamed?.text).toContain('Name, before Bot Name, now Better bot');
    const active = (await issue(deps)).identifier;
    smtp.received.length = 0;
    await performAndSend(deps, OWNER, OPERATIONS.revoke, { identifier: active });
    const [revoked] = toOwner();
    expect(revoked?.text).toContain('was revoked in your name');
    expect(revoked?.text).toContain(`${PUBLIC_URL}/developers/sessions`);
  });

  test('is not mailed if the operator performed it on the server itself, except for admins’ decisions', async () => {
    const { identifier } = await ask(onBox('root'));
    await performAndSend(deps, onBox('root'), OPERATIONS.edit, { identifier, name: 'Better bot' });
    expect(toOwner()).toEqual([]);
    const active = (await issue(deps)).identifier;
    smtp.received.length = 0;
    await performAndSend(deps, onBox('root'), OPERATIONS.revoke, { identifier: active, reason: 'Leaked.' });
    const [revoked] = toOwner();
    expect(revoked?.text).not.toContain('in your name');
  });
});

describe('a sign-in', () => {
  test('is mailed to the owner, with time, client and the page that ends it', async () => {
    signIn();
    await sendDue();
    const [mail] = mailed();
    expect(mail).toMatchObject({ to: 'owner1@example.org', subject: 'New sign-in to your profile' });
    for (const words of [
      '2026-01-01 00:00:00 UTC',
      '192.0.2.7',
      'Firefox on Linux',
      `${PUBLIC_URL}/developers/sessions`,
    ]) {
      expect(mail?.text).toContain(words);
    }
    expect(log).toEqual(['info: The new-sign-in mail about profile 1 was sent.']);
  });

  test('leaves no trace of the client after the mail, and none at all when the profile is erased', async () => {
    signIn();
    await sendDue();
    expect(stored()).not.toMatch(/192\.0\.2|Firefox/);
    signIn();
    eraseProfile(deps, 'user1', onBox('root'));
    expect(stored()).toBe('[]');
  });

  test('is retried while the mail server is down, shown by status, and abandoned after 3 days', async () => {
    signIn();
    smtp.failures.connect = '421 4.3.2 down';
    await sendDue();
    expect(readStatus(deps).notices).toMatchObject({
      waiting: 1,
      undelivered: [{ identifier: null, uid: 1, kind: 'new-sign-in', to: 'owner', tries: 1 }],
    });
    clock.advance(3 * DAY_MS);
    await sendDue();
    expect(log.at(-1)).toBe(
      'warn: The new-sign-in mail about profile 1 could not be delivered for three days and was dropped.',
    );
    expect(stored()).not.toMatch(/192\.0\.2|Firefox/);
    clock.advance(31 * DAY_MS);
    signIn();
    await sendDue();
    expect(deps.db.$client.query("SELECT count(*) AS n FROM notices WHERE kind = 'new-sign-in'").get()).toEqual({
      n: 1,
    });
  });

  test('is no longer mailed if it was waiting in a backup that is restored', () => {
    signIn();
    expect(dropRestoredNotices(deps.db, clock)).toEqual([{ identifier: null, uid: 1, kind: 'new-sign-in' }]);
    expect(stored()).not.toMatch(/192\.0\.2|Firefox/);
  });
});

test('an enrolment is mailed to every admin, with name, time and IP address, and the command that removes the admin', async () => {
  deps.config.adminEmails = ['root@example.net', 'ops@example.net'];
  enrol();
  await sendDue();
  const mails = mailed();
  expect(mails.map(({ to }) => to)).toEqual(['root@example.net', 'ops@example.net']);
  for (const words of ['Grace', '2026-01-01 00:00:00 UTC', '192.0.2.8', 'profilectl admins remove Grace']) {
    expect(mails[0]?.text).toContain(words);
  }
  expect(stored()).not.toMatch(/192\.0\.2|Grace/);
});

test('if the Developer Platform is off, mails name no pages', async () => {
  deps.config.developerPlatform = false;
  const identifier = await request(deps);
  await performAndSend(deps, onBox('root'), OPERATIONS.reject, { identifier, reason: 'No.' });
  signIn();
  enrol();
  await sendDue();
  const mails = mailed();
  expect(mails.length).toBeGreaterThanOrEqual(3);
  for (const { text } of mails) expect(text).not.toContain('/developers');
});
