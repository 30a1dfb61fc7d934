import { describe, expect, test } from 'bun:test';
import { performAndSend } from '../../../../cli/keys/context.ts';
import { DAY_MS } from '../../../../shared/clock.ts';
import { openFile } from '../../../../shared/db/connect.ts';
import { withTables } from '../../../../shared/db/tables.ts';
import { openDatabase } from '../../../../shared/db-files/open.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../../shared/operations.ts';
import { backupDatabase } from '../../../../shared/upkeep/backup.ts';
import { prepareRestore } from '../../../../shared/upkeep/restore.ts';
import { readStatus } from '../../../../shared/upkeep/status.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { DESCRIPTION, issue, request } from '../../../support/keys.ts';
import { sendDueNotices } from '../../../support/mail/notices.ts';
import { startBrokenSmtp, startSmtp } from '../../../support/mail/smtp.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { testClock, testConfig, testDeps } from '../../../support/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DOWN = '451 4.3.0 not now';
const TWO_ADMINS = { ADMIN_EMAIL: 'root@example.net, ops@example.net' };

/** A real mail server, a database with one profile, and what commands and the server do with notices. */
async function world(variables: Record<string, string> = {}) {
  const smtp = await startSmtp();
  const clock = testClock();
  const deps = testDeps({ clock, variables: { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org', ...variables } });
  insertProfile(deps.db);
  const log: string[] = [];
  const admin = onBox('admin');
  const reject = (identifier: string) =>
    performAndSend(deps, admin, OPERATIONS.reject, { identifier, reason: 'Say more.' });
  const revoke = (identifier: string) =>
    performAndSend(deps, admin, OPERATIONS.revoke, { identifier, reason: 'Leaked.' });
  const ask = () =>
    performAndSend(deps, admin, OPERATIONS.request, {
      profile: 'user1',
      name: 'Bot',
      description: DESCRIPTION,
      permissions: ['api.lookup'],
    });
  /** One run of the server's timer. */
  const sendDue = () => sendDueNotices(deps, (level, text) => void log.push(`${level}: ${text}`), false);
  /** The recipients and subjects of the mails since the last call. */
  const mailed = () => smtp.received.splice(0).map(({ to, raw }) => `${to[0]}: ${/^Subject: (.*)\r$/m.exec(raw)?.[1]}`);
  return { smtp, clock, deps, log, reject, revoke, ask, sendDue, mailed };
}

describe('a command’s mail', () => {
  test('is sent at once: a request to each admin, a rejection and a revocation with their reasons to the owner', async () => {
    const w = await world(TWO_ADMINS);
    const { identifier, warning } = await w.ask();
    expect(warning).toBeNull();
    expect(w.mailed()).toEqual(
      ['root', 'ops'].map((name) => `${name}@example.net: API key request ${identifier} is waiting for a decision`),
    );
    expect((await w.reject(identifier)).warning).toBeNull();
    expect(w.smtp.received[0]?.raw).toContain('> Say more.');
    expect(w.mailed()).toEqual([`owner1@example.org: Your API key request ${identifier} was rejected`]);
    const key = (await issue(w.deps)).identifier;
    w.mailed();
    await w.revoke(key);
    expect(w.smtp.received[0]?.raw).toContain('> Leaked.');
    w.clock.advance(HOUR_MS);
    await w.sendDue();
    expect(w.mailed()).toEqual([`owner1@example.org: Your API key ${key} was revoked`]);
  });

  test('is stored without text, address and secret while it waits', async () => {
    const w = await world(TWO_ADMINS);
    w.smtp.failures.rcpt = DOWN;
    const { identifier } = await w.ask();
    await w.reject(identifier);
    const rows = JSON.stringify(w.deps.db.$client.query('SELECT * FROM notices').all());
    for (const text of ['@example', 'plk_', 'Say more', DESCRIPTION]) expect(rows).not.toContain(text);
  });

  test('is reported as unsent if MAIL_URL is not set, and a server with MAIL_URL sends it', async () => {
    const w = await world();
    const identifier = await request(w.deps);
    const silent = { ...w.deps, mailer: async () => null };
    const input = { identifier, reason: 'No.' };
    const { warning } = await performAndSend(silent, onBox('admin'), OPERATIONS.reject, input);
    expect(warning).toContain('MAIL_URL');
    expect(showKey(w.deps, identifier).state).toBe('rejected');
    await w.sendDue();
    expect(w.mailed()).toHaveLength(1);
  });

  test('is addressed when it is sent: to the current address of the profile', async () => {
    const w = await world();
    const identifier = await request(w.deps);
    w.deps.db.$client.run('UPDATE profiles SET email = NULL');
    expect((await w.reject(identifier)).warning).toContain('no e-mail address');
    w.deps.db.$client.run("UPDATE profiles SET email = 'new@example.org'");
    w.clock.advance(MINUTE_MS);
    await w.sendDue();
    expect(w.mailed().join()).toStartWith('new@example.org: ');
  });

  test('is not sent if it no longer applies, such as a request that has been decided', async () => {
    const w = await world(TWO_ADMINS);
    w.smtp.failures.mail = DOWN;
    const { identifier } = await w.ask();
    delete w.smtp.failures.mail;
    await w.reject(identifier);
    w.mailed();
    w.clock.advance(HOUR_MS);
    await w.sendDue();
    expect(w.mailed()).toEqual([]);
    expect(readStatus(w.deps).notices).toEqual({ waiting: 0, oldestAt: null, undelivered: [] });
  });
});

describe('a mail server that is down', () => {
  test('is tried again after a minute, then after pauses that double up to 6 hours; once it is up, the mail is sent once', async () => {
    const w = await world();
    const identifier = await request(w.deps);
    w.smtp.failures.connect = '421 4.3.2 down';
    const { warning } = await w.reject(identifier);
    expect(warning).toMatch(/not been delivered yet\. .*421.* A running server retries for three days\.$/);
    const nextTryAt = w.deps.db.$client.query<{ at: number }, []>('SELECT next_try_at AS at FROM notices');
    const pauses: number[] = [];
    for (let tries = 1; tries <= 11; tries++) {
      const pauseMs = (nextTryAt.get()?.at ?? 0) - w.clock.nowMs();
      pauses.push(pauseMs / MINUTE_MS);
      w.clock.advance(pauseMs);
      await w.sendDue();
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360]);
    expect(w.log.join()).not.toContain('@');
    expect(readStatus(w.deps).notices).toMatchObject({ waiting: 1, undelivered: [{ identifier, kind: 'rejection' }] });
    delete w.smtp.failures.connect;
    for (let tries = 0; tries < 2; tries++) {
      w.clock.advance(6 * HOUR_MS);
      await w.sendDue();
    }
    expect(w.mailed()).toHaveLength(1);
    expect(readStatus(w.deps).notices).toMatchObject({ waiting: 0, undelivered: [] });
  });

  test('for 3 days causes the mail to be dropped, which the log, the history and status report', async () => {
    const w = await world();
    const identifier = await request(w.deps);
    w.smtp.failures.connect = '421 4.3.2 down';
    await w.reject(identifier);
    for (let hours = 0; hours < 74; hours += 2) {
      w.clock.advance(2 * HOUR_MS);
      await w.sendDue();
    }
    expect(w.log.length).toBeLessThan(20);
    expect(w.log.at(-1)).toContain(`The rejection mail about key ${identifier} could not be delivered for three days`);
    expect(keyHistory(w.deps, identifier).at(-1)).toMatchObject({
      by: 'system',
      event: 'mail not delivered',
      to: 'rejected',
      detail: { mail: 'rejection', to: 'owner' },
    });
    expect(readStatus(w.deps).notices).toMatchObject({ waiting: 0, undelivered: [{ result: 'dropped' }] });
    expect(readStatus(w.deps).warnings.join()).toContain('1 mail is undelivered');
    w.clock.advance(31 * DAY_MS);
    expect(readStatus(w.deps).notices?.undelivered).toEqual([]);
  });

  test('that accepts a mail without confirming it is sent it again', async () => {
    const broken = await startBrokenSmtp({ dot: 'close' });
    const w = await world({ MAIL_URL: `smtp://127.0.0.1:${broken.port}` });
    const { warning } = await w.reject(await request(w.deps));
    expect(warning).toContain('may or may not arrive');
    expect(readStatus(w.deps).notices?.waiting).toBe(1);
  });

  test('a mailbox of one admin that refuses mails does not delay those to another admin', async () => {
    const w = await world(TWO_ADMINS);
    const send = w.smtp.failures;
    send.rcpt = '550 5.1.1 no such user';
    const { identifier, warning } = await w.ask();
    expect(warning).toContain('check ADMIN_EMAIL');
    delete send.rcpt;
    w.clock.advance(DAY_MS);
    await w.sendDue();
    expect(w.mailed()).toEqual([]);
    expect(keyHistory(w.deps, identifier).map(({ detail }) => detail?.to)).toEqual([undefined, 'admin 1', 'admin 2']);
  });

  test('after a refused login or sender, which the operator can correct, the mail is retried', async () => {
    const w = await world();
    w.smtp.failures.mail = '550 5.7.1 not your domain';
    await w.reject(await request(w.deps));
    delete w.smtp.failures.mail;
    w.clock.advance(MINUTE_MS);
    await w.sendDue();
    expect(w.mailed()).toHaveLength(1);
  });
});

describe('order', () => {
  test('mails about one key reach a recipient in order; a failing one delays the next by at most an hour', async () => {
    const w = await world();
    const { identifier } = await issue(w.deps);
    w.mailed();
    const store = (at: number) =>
      w.deps.db.$client.run(
        "INSERT INTO notices (identifier, kind, recipient, about, at, next_try_at) VALUES (?, 'revocation', 'owner', '{\"event\":1}', ?, ?)",
        [identifier, at, at],
      );
    const tried = () => w.deps.db.$client.query('SELECT tries FROM notices ORDER BY id').values().flat();
    w.smtp.failures.mail = DOWN;
    store(w.clock.nowMs());
    await w.sendDue();
    store(w.clock.nowMs());
    w.clock.advance(HOUR_MS - MINUTE_MS);
    await w.sendDue();
    expect(tried()).toEqual([2, 0]);
    w.clock.advance(MINUTE_MS);
    await w.sendDue();
    expect(tried()).toEqual([2, 1]);
    delete w.smtp.failures.mail;
    w.clock.advance(6 * HOUR_MS);
    await w.sendDue();
    expect(w.mailed()).toHaveLength(2);
  });
});

describe('concurrent senders', () => {
  test('many senders with their own connections send each mail once', async () => {
    const w = await world();
    w.smtp.failures.connect = '421 4.3.2 down';
    for (let id = 2; id <= 11; id++) {
      insertProfile(w.deps.db, { id });
      await w.reject(await request(w.deps, { profile: `user${id}` }));
    }
    delete w.smtp.failures.connect;
    w.clock.advance(HOUR_MS);
    await Promise.all([w.sendDue(), w.sendDue(), w.sendDue(), w.sendDue()]);
    expect(new Set(w.mailed()).size).toBe(10);
    await w.sendDue();
    expect(w.mailed()).toEqual([]);
  });

  test('if a sender crashes after the mail server accepted a mail, the mail is sent again after its lease', async () => {
    const w = await world();
    const identifier = await request(w.deps);
    const begun = Promise.withResolvers<void>();
    const hang = () => {
      begun.resolve();
      return new Promise<never>(() => undefined);
    };
    const crashing = { ...w.deps, mailer: async () => ({ send: hang, check: hang }) };
    void performAndSend(crashing, onBox('admin'), OPERATIONS.reject, { identifier, reason: 'No.' });
    await begun.promise;
    await w.sendDue();
    expect(w.mailed()).toEqual([]);
    w.clock.advance(2 * MINUTE_MS);
    await w.sendDue();
    expect(w.mailed()).toHaveLength(1);
  });

  test('a command with a locked database decides nothing; one that can’t store the result of the mail says so', async () => {
    const w = await world();
    const identifier = await request(w.deps);
    const other = openFile(w.deps.config.databasePath, 0);
    w.deps.db.$client.run('PRAGMA busy_timeout = 0');
    const mailer = await w.deps.mailer();
    const locking = async () => {
      other.run('BEGIN IMMEDIATE');
      return mailer;
    };
    const input = { identifier, reason: 'No.' };
    const { warning } = await performAndSend({ ...w.deps, mailer: locking }, onBox('admin'), OPERATIONS.reject, input);
    expect(warning).toContain('The mail may not have been sent yet.');
    other.close();
    await w.sendDue();
    expect(w.mailed()).toHaveLength(1);
  });
});

test('mails do not wait after the clock was set back by a year', async () => {
  const w = await world();
  w.smtp.failures.connect = '421 4.3.2 down';
  await w.reject(await request(w.deps));
  delete w.smtp.failures.connect;
  w.clock.advance(-365 * DAY_MS);
  await w.sendDue();
  expect(w.mailed()).toHaveLength(1);
});

test('erasing a profile removes its waiting mails', async () => {
  const w = await world(TWO_ADMINS);
  w.smtp.failures.connect = '421 4.3.2 down';
  await w.ask();
  eraseProfile(w.deps, 'user1', onBox('admin'));
  expect(w.deps.db.$client.query('SELECT count(*) AS n FROM notices').get()).toEqual({ n: 0 });
  delete w.smtp.failures.connect;
  w.clock.advance(HOUR_MS);
  await w.sendDue();
  expect(w.mailed()).toEqual([]);
});

test('mails waiting in a backup are dropped and reported when it is restored', async () => {
  const w = await world();
  const identifier = await request(w.deps);
  w.smtp.failures.connect = '421 4.3.2 down';
  await w.reject(identifier);
  const copy = `${w.deps.folder}/copy.db`;
  backupDatabase(w.deps.db, copy, () => undefined);
  const target = `${w.deps.folder}/restored.db`;
  const restore = prepareRestore(target, copy);
  expect(restore.run(onBox('root')).dropped).toEqual([{ identifier, uid: null, kind: 'rejection' }]);
  restore.release();
  const db = withTables(openDatabase(target, 'use'));
  const restored = { ...w.deps, db, config: { ...w.deps.config, databasePath: target } };
  expect(keyHistory(restored, identifier).at(-1)?.event).toBe('mail not delivered');
  delete w.smtp.failures.connect;
  w.clock.advance(HOUR_MS);
  await sendDueNotices(restored, () => undefined, false);
  expect(w.mailed()).toEqual([]);
  db.$client.close();
  await w.sendDue();
  expect(w.mailed()).toHaveLength(1);
});

test('PUBLIC_NAME is the sender of mails and the name of the API in them', async () => {
  const w = await world({ PUBLIC_NAME: 'Linkhive' });
  await w.reject(await request(w.deps));
  const { raw = '' } = w.smtp.received[0] ?? {};
  expect(raw).toMatch(/^From: Linkhive </m);
  expect(raw).toContain('Your key request for the Linkhive API at');
  expect(raw).not.toContain('Profile Lookup');
});

describe('CONTACT', () => {
  test('is in a mail as a sentence, and as Reply-To if it is an e-mail address', async () => {
    const w = await world({ CONTACT: 'help@example.org' });
    await w.reject(await request(w.deps));
    expect(w.smtp.received[0]?.raw).toMatch(/^Reply-To: help@example\.org\r$/m);
    expect(w.smtp.received[0]?.raw).toContain('Reply to this e-mail or write to help@example.org.');
  });

  test('that is a page is named without Reply-To', async () => {
    const w = await world({ CONTACT: 'https://help.example.org/keys' });
    await issue(w.deps);
    expect(w.smtp.received[0]?.raw).not.toContain('Reply-To');
    expect(w.smtp.received[0]?.raw).toContain('https://help.example.org/keys');
  });

  test('and ADMIN_EMAIL are refused if invalid', () => {
    for (const CONTACT of ['nobody', 'javascript:alert(1)', 'a@b.org, c@d.org']) {
      expect(() => testConfig({ CONTACT })).toThrow('CONTACT');
    }
    expect(() => testConfig({ ADMIN_EMAIL: 'a@example.org,,b@example.org' })).toThrow('ADMIN_EMAIL');
    expect(testConfig({ ADMIN_EMAIL: ' a@example.org , b@example.org, a@example.org' }).adminEmails).toEqual([
      'a@example.org',
      'b@example.org',
    ]);
  });
});
