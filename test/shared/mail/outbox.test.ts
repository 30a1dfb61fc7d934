import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { performAndSend } from '../../../cli/keys/context.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { readStatus } from '../../../shared/files/status.ts';
import { revokeLeakedKeys } from '../../../shared/keys/life.ts';
import * as delivery from '../../../shared/mail/delivery.ts';
import { storeReminders } from '../../../shared/mail/reminders.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { DESCRIPTION, issue, request } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail.ts';
import { changeByHand, eraseProfile, insertProfile } from '../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

const MINUTE_MS = 60_000;
const REASON = 'We need to know more.';
const ROOT = onBox('root');
const GRACE = { kind: 'admin', name: 'Grace', hasAsserted: true } as const;

type World = Awaited<ReturnType<typeof world>>;

/** A service with nine profiles and a mail server; mails about approvals are not among the `mailed`. */
async function world(variables: Record<string, string> = {}, setup: Parameters<typeof startSmtp>[0] = {}) {
  const clock = testClock();
  const smtp = await startSmtp(setup);
  const mail = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org', PUBLIC_URL: 'https://api.example.org' };
  const deps = testDeps({ clock, variables: { ...mail, ...variables } });
  for (let id = 1; id <= 9; id++) insertProfile(deps.db, { id });
  const mailed = () =>
    smtp.received
      .splice(0)
      .map(({ to, raw }) => `${to[0]}: ${/^Subject: (.*)\r$/m.exec(raw)?.[1]?.replace(/\b\w{8}\b/, '…')}`)
      .filter((line) => !line.includes('approved'));
  const log: string[] = [];
  /** Does what the server's timers do. */
  const sendDue = async () => {
    const report = (level: string, text: string) => void log.push(`${level}: ${text}`);
    storeReminders(deps.db, clock.nowMs(), deps.config);
    delivery.dropOldMails(deps.db, clock.nowMs(), report);
    await delivery.sendDueMails(deps, report);
  };
  const wait = async (milliseconds: number) => {
    clock.advance(milliseconds);
    await sendDue();
  };
  const undelivered = () => readStatus(deps).mails?.undelivered ?? [];
  return { deps, clock, smtp, mailed, log, sendDue, wait, undelivered };
}

/** Rejects a request as an admin does on a page, where the server sends the mail. */
async function reject({ deps }: World, profile = 'user1'): Promise<string> {
  const identifier = await request(deps, { profile });
  await perform(deps, GRACE, OPERATIONS.reject, { identifier, reason: REASON });
  return identifier;
}

const REJECTED = (user = 1) => `owner${user}@example.org: Your API key request … was rejected`;

describe('a mail without a secret', () => {
  test('is sent once, from what was composed in the transaction, to the address at the time of sending', async () => {
    const w = await world();
    await reject(w);
    changeByHand(w.deps, 'user1', { displayName: 'Another', email: 'new@example.org' });
    await w.wait(MINUTE_MS);
    expect(w.mailed().sort()).toEqual([
      'new@example.org: Your API key request … was rejected',
      'owner1@example.org: The e-mail address of your profile was changed',
    ]);
    await w.wait(DAY_MS);
    expect(w.mailed()).toEqual([]);
    expect(w.deps.db.$client.query('SELECT DISTINCT subject, body FROM mails').all()).toEqual([
      { subject: '', body: '' },
    ]);
  });

  test('is sent by the command that stores it, which has a minute for that', async () => {
    const w = await world();
    const identifier = await request(w.deps, { profile: 'user1' });
    await perform(w.deps, ROOT, OPERATIONS.reject, { identifier, reason: REASON });
    await w.sendDue();
    expect(w.mailed()).toEqual([]);
    await w.wait(MINUTE_MS);
    expect(w.mailed()).toEqual([REJECTED()]);
    const other = await request(w.deps, { profile: 'user2' });
    expect(
      await performAndSend({ deps: w.deps, actor: ROOT }, OPERATIONS.reject, { identifier: other, reason: REASON }),
    ).toMatchObject({
      warning: null,
    });
    expect(w.mailed()).toEqual([REJECTED(2)]);
    const third = await request(w.deps, { profile: 'user3' });
    const without = { ...w.deps, mailer: async () => null };
    expect(
      await performAndSend({ deps: without, actor: ROOT }, OPERATIONS.reject, { identifier: third, reason: REASON }),
    ).toMatchObject({
      warning: expect.stringContaining('MAIL_URL is not set here'),
    });
    await w.sendDue();
    expect(w.mailed()).toEqual([REJECTED(3)]);
  });

  test('is tried again with doubling pauses, and a command that fails to send it says so', async () => {
    const w = await world();
    w.smtp.failures.connect = '421 4.3.2 busy';
    const identifier = await request(w.deps, { profile: 'user1' });
    const input = { identifier, reason: REASON };
    const { warning } = (await performAndSend({ deps: w.deps, actor: ROOT }, OPERATIONS.reject, input)) as {
      warning: string;
    };
    expect(warning).toMatch(
      /^The mail has not been delivered yet\. .*421.* A running server retries for three days\.$/,
    );
    for (const [pauseMs, tries] of [
      [1, 2],
      [2, 3],
      [4, 4],
      [8, 5],
    ] as const) {
      await w.wait(pauseMs * MINUTE_MS - 1);
      expect(w.undelivered()).toMatchObject([{ to: 'owner', tries: tries - 1, result: 'waiting' }]);
      await w.wait(1);
      expect(w.undelivered()).toMatchObject([{ tries }]);
    }
    delete w.smtp.failures.connect;
    await w.wait(16 * MINUTE_MS);
    expect(w.mailed()).toEqual([REJECTED()]);
    expect(w.undelivered()).toEqual([]);
  });

  test('is tried again at once if the clock was a year ahead at the last try', async () => {
    const w = await world();
    w.smtp.failures.connect = '421 4.3.2 busy';
    w.clock.jump(365 * DAY_MS);
    await reject(w);
    await w.sendDue();
    w.clock.jump(-365 * DAY_MS);
    delete w.smtp.failures.connect;
    await w.sendDue();
    expect(w.mailed()).toEqual([REJECTED()]);
  });

  test('ends when the mail server refuses its recipient for good, and after three days', async () => {
    const w = await world();
    w.smtp.failures.rcpt = '550 5.1.1 no such user';
    await reject(w);
    await w.sendDue();
    w.smtp.failures.rcpt = '451 4.3.0 not now';
    await reject(w, 'user2');
    await w.sendDue();
    await w.wait(DAY_MS * 3 + 1);
    expect(w.undelivered()).toMatchObject([
      { uid: 1, result: 'refused', reason: expect.stringContaining('refused RCPT ("550 5.1.1 no such user")') },
      { uid: 2, result: 'dropped' },
    ]);
    expect(readStatus(w.deps).warnings.join()).toContain('2 mails are undelivered');
    expect(w.log.join()).not.toContain('@');
    delete w.smtp.failures.rcpt;
    await w.wait(DAY_MS);
    expect(w.mailed()).toEqual([]);
    await w.wait(30 * DAY_MS);
    expect(w.deps.db.$client.query('SELECT 1 FROM mails').all()).toEqual([]);
  });

  test('is one of 2,000 at most that end, or are deleted, in one step', async () => {
    const { deps } = await world();
    const { $client: sqlite } = deps.db;
    const counts = () =>
      sqlite.query("SELECT count(*) AS stored, count(*) FILTER (WHERE result = 'waiting') AS waiting FROM mails").get();
    sqlite.run(`WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 2001)
      INSERT INTO mails (profile_id, kind, subject, body, at, next_try_at)
        SELECT 1, 'changed-address', 'Changed', 'Changed', 0, 0 FROM numbers`);
    const step = (days: number) => delivery.dropOldMails(deps.db, days * DAY_MS, () => undefined);
    expect([step(4), counts()]).toEqual([true, { stored: 2001, waiting: 1 }]);
    expect([step(4), counts()]).toEqual([false, { stored: 2001, waiting: 0 }]);
    expect([step(40), counts()]).toEqual([true, { stored: 1, waiting: 0 }]);
    expect([step(40), counts()]).toEqual([false, { stored: 0, waiting: 0 }]);
  });

  test('that is due while another process has the lock waits for it, and then goes where it should by then', async () => {
    const w = await world();
    await reject(w);
    await reject(w, 'user2');
    await reject(w, 'user3');
    const other = new Database(w.deps.config.databasePath, { readwrite: true, strict: true });
    other.run('PRAGMA foreign_keys = ON');
    other.run('BEGIN IMMEDIATE');
    other.run("UPDATE profiles SET email = 'new@example.org' WHERE id = 1");
    other.run('DELETE FROM mails WHERE profile_id = 2');
    // The timer runs although the mails wait.
    setTimeout(() => other.run('COMMIT'), 200);
    await delivery.sendDueMails(w.deps, () => undefined);
    expect(w.mailed().sort()).toEqual(['new@example.org: Your API key request … was rejected', REJECTED(3)]);
    other.close();
  });

  test('is deleted with its profile', async () => {
    const w = await world();
    await reject(w);
    eraseProfile(w.deps, 'user1', ROOT);
    await w.wait(MINUTE_MS);
    expect([w.mailed(), w.deps.db.$client.query('SELECT 1 FROM mails').all()]).toEqual([[], []]);
  });

  test('that hangs delays neither other recipients nor the end of the next mails to its own', async () => {
    const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
    let open = 0;
    let most = 0;
    const w = await world(
      {},
      {
        onMessage: async ({ to }) => {
          most = Math.max(most, ++open);
          await (to[0] === 'owner1@example.org' ? mayGoOn : Bun.sleep(20));
          open--;
        },
      },
    );
    await reject(w);
    await reject(w);
    for (let user = 2; user <= 9; user++) await reject(w, `user${user}`);
    const sending = w.sendDue();
    while (w.smtp.received.length < 8) await Bun.sleep(1);
    expect(w.mailed().sort()).toEqual([2, 3, 4, 5, 6, 7, 8, 9].map(REJECTED));
    goOn();
    await sending;
    expect(w.mailed()).toEqual([REJECTED(), REJECTED()]);
    expect(most).toBeLessThanOrEqual(5);
  });
});

/** A webhook over real HTTP, with the bodies that it received. `answer` answers each request. */
type Webhook = { url: string; posted: string[]; answer: () => Response };

/** Starts a webhook on loopback, which answers with 204. It is stopped when the test file is done. */
function startWebhook(): Webhook {
  const webhook: Webhook = { url: '', posted: [], answer: () => new Response(null, { status: 204 }) };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      webhook.posted.push(await request.text());
      return webhook.answer();
    },
  });
  afterAll(() => server.stop(true));
  webhook.url = `http://127.0.0.1:${server.port}/hooks/s3cret-token`;
  return webhook;
}

describe('the webhook', () => {
  test('gets a request and a found secret, with identifier, UID and link alone', async () => {
    const webhook = startWebhook();
    const w = await world({ ADMIN_WEBHOOK_URL: webhook.url });
    const fields = { profile: 'user1', name: '@everyone', description: `@everyone ${DESCRIPTION}` };
    const asked = { ...fields, permissions: ['api.lookup'] as const };
    const { identifier } = await performAndSend({ deps: w.deps, actor: ROOT }, OPERATIONS.request, asked);
    const { identifier: found } = await issue(w.deps, { profile: 'user2' });
    revokeLeakedKeys(w.deps, w.smtp.received.map(({ raw }) => raw).join());
    await w.wait(MINUTE_MS);
    const page = 'https://api.example.org/developers/admin/keys';
    const bodies = webhook.posted.map((body) => JSON.parse(body));
    expect(bodies.map(({ text }) => text)).toContain(
      `API key request ${identifier} is waiting for a decision (UID 1).\n${page}/${identifier}`,
    );
    expect(bodies.map(({ text }) => text)).toContain(
      `The secret of API key ${found} was found, and the key was revoked (UID 2).\n${page}/${found}`,
    );
    for (const { text, ...rest } of bodies) expect(rest).toEqual({ content: text, allowed_mentions: { parse: [] } });
  });

  test('is tried again, and what it says to a refusal stands in the status, without a part of its URL', async () => {
    const webhook = startWebhook();
    webhook.answer = () => new Response('slow down, s3cret-token\nmore', { status: 429 });
    const w = await world({ ADMIN_WEBHOOK_URL: webhook.url });
    await request(w.deps, { profile: 'user1' });
    await w.wait(MINUTE_MS);
    const reason = 'The webhook responded with 429 ("slow down, [removed]"); check ADMIN_WEBHOOK_URL.';
    expect(w.undelivered()).toMatchObject([{ to: 'webhook', result: 'waiting', reason }]);
    webhook.answer = () => new Response('no', { status: 404 });
    await w.wait(MINUTE_MS);
    expect(w.undelivered()).toMatchObject([{ result: 'refused' }]);
    await w.wait(DAY_MS);
    expect(webhook.posted).toHaveLength(2);
    expect(JSON.stringify(w.deps.db.$client.query('SELECT * FROM mails').all())).not.toContain('s3cret');
  });
});

describe('an owner is reminded of the end of a key', () => {
  const SOON = 'owner1@example.org: Your API key … expires soon';

  test('once, 14 days before, and again if that is put off', async () => {
    const w = await world();
    const expiresAtMs = w.clock.nowMs() + 20 * DAY_MS;
    const { identifier } = await issue(w.deps, { profile: 'user1' }, { expiresAtMs });
    w.mailed();
    w.clock.advance(6 * DAY_MS - 1);
    await w.sendDue();
    expect(w.mailed()).toEqual([]);
    for (const passedMs of [1, 5 * DAY_MS]) {
      w.clock.advance(passedMs);
      await w.sendDue();
      expect(w.mailed()).toEqual(passedMs === 1 ? [SOON] : []);
    }
    await perform(w.deps, GRACE, OPERATIONS.change, { identifier, expiresAtMs: w.clock.nowMs() + 20 * DAY_MS });
    await w.sendDue();
    w.mailed();
    w.clock.advance(6 * DAY_MS);
    await w.sendDue();
    expect(w.mailed()).toEqual([SOON]);
  });

  test('together with 19 others at most', async () => {
    const w = await world();
    const expiresAtMs = w.clock.nowMs() + 20 * DAY_MS;
    for (let key = 0; key < 21; key++) await issue(w.deps, { profile: `user${1 + (key % 9)}` }, { expiresAtMs });
    w.clock.advance(6 * DAY_MS);
    const step = () => storeReminders(w.deps.db, w.clock.nowMs(), w.deps.config);
    expect([step(), step(), step()]).toEqual([true, false, false]);
    await w.sendDue();
    expect(w.mailed().filter((line) => line.includes('expires soon'))).toHaveLength(21);
  });

  test('not if the end was set later than that, nor while the profile is banned', async () => {
    const w = await world();
    await issue(w.deps, { profile: 'user1' }, { expiresAtMs: w.clock.nowMs() + 14 * DAY_MS });
    await issue(w.deps, { profile: 'user2' }, { expiresAtMs: w.clock.nowMs() + 20 * DAY_MS });
    changeByHand(w.deps, 'user2', { banned: true });
    w.mailed();
    for (let day = 0; day < 13; day++) {
      w.clock.advance(DAY_MS);
      await w.sendDue();
    }
    expect(w.mailed()).toEqual([]);
  });
});
