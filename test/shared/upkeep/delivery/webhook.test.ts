import { describe, expect, test } from 'bun:test';
import type { ServerResponse } from 'node:http';
import { performAndSend } from '../../../../cli/keys/context.ts';
import { revokeLeakedKeys } from '../../../../shared/keys/life/revoke-leaked.ts';
import { keyHistory } from '../../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../../shared/operations.ts';
import { readOverview } from '../../../../shared/upkeep/overview.ts';
import { readStatus } from '../../../../shared/upkeep/status.ts';
import { readKeyStats } from '../../../../shared/usage/key-stats.ts';
import { onBox } from '../../../support/actors.ts';
import { DESCRIPTION, issue } from '../../../support/keys.ts';
import { sendDueNotices } from '../../../support/mail/notices.ts';
import { startSmtp } from '../../../support/mail/smtp.ts';
import { endless, FORMS, startWebhook, status } from '../../../support/mail/webhook.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { drawHalf, drawQuarter, seededRandom } from '../../../support/rounds.ts';
import { testClock, testConfig, testDeps } from '../../../support/world.ts';

// Messages to the admins' webhook over real HTTP: made from the same rows as mails, and never delaying anything by more than
// ten seconds.

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
const NASTY = '@everyone <!channel> **x** [y](https://evil.example)';
const smtp = await startSmtp();
const FORM_NAMES = Object.keys(FORMS);

const random = seededRandom('the kind of one webhook');

/** The kind of webhook of a world in which every kind behaves alike. */
const anyForm = () => FORM_NAMES[Math.floor(random() * FORM_NAMES.length)];

async function world(form = 'Slack', variables: Record<string, string> = {}) {
  const webhook = await startWebhook(FORMS[form]?.path);
  const clock = testClock();
  const mail = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org', PUBLIC_URL: 'https://api.example.org' };
  const deps = testDeps({ clock, variables: { ADMIN_WEBHOOK_URL: webhook.url, ...mail, ...variables } });
  for (let id = 1; id <= 9; id++) insertProfile(deps.db, { id, displayName: NASTY });
  const admin = onBox('root');
  let asked = 0;
  const ask = async () => {
    const fields = { name: NASTY, description: `${NASTY} ${DESCRIPTION}`, permissions: ['api.lookup'] };
    return performAndSend(deps, admin, OPERATIONS.request, { ...fields, profile: `user${(asked++ % 9) + 1}` });
  };
  const log: string[] = [];
  const sendDue = () => sendDueNotices(deps, (level, text) => void log.push(`${level}: ${text}`), false);
  const wait = async (milliseconds: number) => {
    clock.advance(milliseconds);
    await sendDue();
  };
  /** Approves a key and reports its secret as found; returns its identifier. */
  const find = async (profile: string) => {
    const { identifier } = await issue(deps, { profile });
    const raw = smtp.received.map((mail) => mail.raw).join();
    revokeLeakedKeys(deps, new RegExp(`plk_${identifier}_[0-9A-Za-z]{38}`).exec(raw)?.[0] ?? '');
    return identifier;
  };
  /** The messages in the chat since the last call. */
  const shown = () => webhook.posted.splice(0).map(({ body }) => FORMS[form]?.shown(JSON.parse(body)));
  const undelivered = () => readStatus(deps).notices?.undelivered ?? [];
  return { webhook, clock, deps, admin, ask, find, log, sendDue, wait, shown, undelivered };
}

describe.each(drawHalf(FORM_NAMES, seededRandom('kinds of webhooks')))('a webhook of %s', (form) => {
  test('gets messages about a request, a found secret and a failed delivery, with only identifier, UID and link', async () => {
    const w = await world(form);
    const { identifier } = await w.ask();
    await w.sendDue();
    expect(w.webhook.posted).toEqual([expect.objectContaining({ method: 'POST', type: 'application/json' })]);
    expect(w.webhook.posted[0]?.url).toBe(FORMS[form]?.path);
    const body = JSON.parse(w.webhook.posted[0]?.body ?? '');
    expect(body).toEqual({ content: body.text, text: body.text, allowed_mentions: { parse: [] } });
    const page = (key: string) => `https://api.example.org/developers/admin/keys/${key}`;
    expect(w.shown()).toEqual([
      `A request is waiting for a decision: key ${identifier} of profile 1.\n${page(identifier)}`,
    ]);
    const found = await w.find('user2');
    await w.wait(10 * SECOND_MS);
    const sentence = `The secret of key ${found} of profile 2 was found, and the key was revoked.`;
    expect(w.shown()).toEqual([`${sentence}\n${page(found)}`]);
    smtp.failures.rcpt = '550 5.1.1 @everyone no such user';
    await performAndSend(w.deps, w.admin, OPERATIONS.reject, { identifier, reason: NASTY });
    delete smtp.failures.rcpt;
    await w.wait(10 * SECOND_MS);
    const failed = `The rejection mail to the owner about key ${identifier} of profile 1 could not be delivered.`;
    expect(w.shown()).toEqual([`${failed}\n${page(identifier)}`]);
    expect(w.log.join()).not.toContain('webhook');
  });

  test('gets the pause that it requests, also for later events', async () => {
    const w = await world(form);
    w.webhook.answer = status(429, { 'Retry-After': '300' });
    const first = await w.ask();
    await w.sendDue();
    await w.wait(100 * SECOND_MS);
    await w.ask();
    await w.wait(199 * SECOND_MS);
    expect(w.shown()).toHaveLength(1);
    w.webhook.answer = status(200);
    await w.wait(SECOND_MS);
    const text = w.shown().join();
    expect(text).toContain(first.identifier);
    expect(text).toEndWith('\nAlso: 1 request.');
    w.webhook.answer = status(429, { 'Retry-After': '0.5' });
    await w.wait(10 * SECOND_MS);
    await w.ask();
    await w.sendDue();
    await w.wait(9 * SECOND_MS);
    expect(w.shown()).toHaveLength(1);
    await w.wait(SECOND_MS);
    expect(w.shown()).toHaveLength(1);
  });

  test('has only its status and headers read: an endless body is cut off', async () => {
    const w = await world(form);
    w.webhook.answer = endless;
    await w.ask();
    const beganAt = performance.now();
    await w.sendDue();
    expect(performance.now() - beganAt).toBeLessThan(5_000);
    while (w.webhook.posted[0]?.isClosed !== true) await Bun.sleep(5);
    expect(w.undelivered()).toEqual([]);
  });
});

test('a message that was refused permanently is not sent again, but it is after other failures; redirects are not followed', async () => {
  const elsewhere = await startWebhook();
  const chance = seededRandom('statuses of a webhook');
  for (const code of drawHalf([401, 404, 410], chance)) {
    const w = await world(anyForm());
    w.webhook.answer = status(code);
    const { identifier } = await w.ask();
    await w.sendDue();
    await w.wait(DAY_MS);
    expect(w.webhook.posted).toHaveLength(1);
    const fault = `The webhook responded with ${code}; check ADMIN_WEBHOOK_URL.`;
    expect(keyHistory(w.deps, identifier).map(({ event }) => event)).toEqual(['requested']);
    expect(w.undelivered()).toMatchObject([{ identifier, to: 'webhook', result: 'refused', tries: 1, reason: fault }]);
  }
  for (const code of [
    [301, 302, 307, 308],
    [400, 403],
    [500, 503],
  ].flatMap((codes) => drawQuarter(codes, chance))) {
    const w = await world(anyForm());
    w.webhook.answer = status(code, { Location: elsewhere.url });
    await w.ask();
    await w.sendDue();
    await w.wait(59 * SECOND_MS);
    expect(w.webhook.posted).toHaveLength(1);
    expect(w.undelivered()).toMatchObject([{ to: 'webhook', result: 'waiting', tries: 1 }]);
    w.webhook.answer = status(200);
    await w.wait(SECOND_MS);
    expect([w.webhook.posted.length, w.undelivered()]).toEqual([2, []]);
  }
  expect(elsewhere.posted).toEqual([]);
});

test('a webhook that hangs gets ten seconds; mails are sent meanwhile, and only "status" shows the failure', async () => {
  await Promise.all(
    FORM_NAMES.map(async (form) => {
      const w = await world(form);
      const beforehand = smtp.received.length;
      w.webhook.answer = () => undefined;
      const { identifier } = await w.ask();
      const sending = w.sendDue();
      while (w.webhook.posted.length === 0) await Bun.sleep(5);
      await perform(w.deps, w.admin, OPERATIONS.withdraw, { identifier: (await w.ask()).identifier });
      await perform(w.deps, w.admin, OPERATIONS.reject, { identifier, reason: 'No.' });
      const mine = () => smtp.received.slice(beforehand).filter(({ raw }) => raw.includes(identifier));
      while (mine().length === 0) await Bun.sleep(5);
      expect(w.webhook.posted[0]?.isClosed).toBe(false);
      await sending;
      while (w.webhook.posted[0]?.isClosed !== true) await Bun.sleep(5);
      const reason = 'The webhook did not respond within 10 seconds.';
      expect(w.undelivered()).toMatchObject([{ kind: 'request', to: 'webhook', reason }]);
      expect(w.log).toEqual([`info: The rejection mail about key ${identifier} was sent.`]);
      expect(keyHistory(w.deps, identifier).map(({ event }) => event)).not.toContain('mail not delivered');
      expect(readKeyStats(w.deps.db, w.clock.nowMs()).notices).toMatchObject({ waiting: 0, refused: 0 });
      const { warnings } = readStatus(w.deps);
      expect(warnings.join()).toContain('Some messages to the webhook in ADMIN_WEBHOOK_URL were not delivered.');
      expect(warnings.join()).not.toContain('undelivered');
      expect(readOverview(w.deps).mails).toEqual({ waiting: 0, oldestAt: null, undelivered: [] });
    }),
  );
}, 30_000);

test('at most one message is sent every ten seconds, whether or not the last one succeeded; it counts all other events', async () => {
  for (const code of [200, 404]) {
    const w = await world();
    w.webhook.answer = status(code);
    await w.ask();
    await w.sendDue();
    await w.ask();
    await w.ask();
    await w.find('user9');
    await w.wait(9 * SECOND_MS);
    expect(w.shown()).toHaveLength(1);
    await w.wait(SECOND_MS);
    const messages = w.shown();
    expect(messages).toHaveLength(1);
    expect(messages.join()).toEndWith('\nAlso: 1 request, 1 found secret.');
    await w.wait(10 * SECOND_MS);
    expect(w.shown()).toEqual([]);
  }
});

test('no user-written text is sent, and no part of the URL is stored or shown', async () => {
  const w = await world('Slack', { ADMIN_EMAIL: 'root@example.net' });
  w.webhook.answer = status(500);
  smtp.failures.rcpt = '550 5.1.1 @everyone';
  for (let count = 0; count < 5; count++) await w.ask();
  delete smtp.failures.rcpt;
  await w.sendDue();
  await w.wait(3_600 * SECOND_MS);
  const messages = w.shown();
  expect(messages.length).toBeGreaterThan(1);
  for (const message of messages) expect(message).toMatch(/^[A-Za-z0-9 :/.,_\n-]+$/);
  const address = new RegExp(`s3cret|${new URL(w.webhook.url).port}/`);
  const stored = w.deps.db.$client.query('SELECT * FROM notices').all();
  expect(JSON.stringify([stored, readStatus(w.deps), w.log])).not.toMatch(address);
});

test('an unreachable URL is retried for three days, without being shown; no message is lost before then', async () => {
  const w = await world();
  const url = 'http://127.0.0.1:1/s3cret-token';
  const down = { ...w.deps, config: { ...w.deps.config, adminWebhook: url } };
  const log: string[] = [];
  const { identifier } = await w.ask();
  for (let hours = 0; hours < 65; hours += 5) {
    await sendDueNotices(down, (_level, text) => void log.push(text), false);
    w.clock.advance(5 * 3_600 * SECOND_MS);
  }
  expect(JSON.stringify([log, w.undelivered()])).not.toContain('s3cret');
  expect(w.undelivered()).toMatchObject([{ reason: expect.stringContaining("The webhook can't be reached") }]);
  await w.wait(6 * 3_600 * SECOND_MS);
  expect(w.shown()).toEqual([expect.stringContaining(identifier)]);
  const lost = await w.ask();
  for (let hours = 0; hours < 80; hours += 5) {
    await sendDueNotices(down, (_level, text) => void log.push(text), false);
    w.clock.advance(5 * 3_600 * SECOND_MS);
  }
  expect(w.undelivered()).toMatchObject([{ identifier: lost.identifier, result: 'dropped' }]);
  expect([w.webhook.posted, log]).toEqual([[], []]);
});

test('a mail that is dropped after three days is reported as a failed delivery, once', async () => {
  const w = await world('Slack', { ADMIN_EMAIL: 'root@example.net' });
  smtp.failures.rcpt = '450 4.2.1 later';
  const { identifier } = await w.ask();
  for (let hours = 0; hours < 80; hours += 5) await w.wait(5 * 3_600 * SECOND_MS);
  delete smtp.failures.rcpt;
  expect(w.shown()).toEqual([
    expect.stringContaining('A request is waiting'),
    expect.stringContaining(
      `The request mail to ADMIN_EMAIL about key ${identifier} of profile 1 could not be delivered.`,
    ),
  ]);
});

test('requests decided in the meantime are not reported; without pages, a command replaces the link', async () => {
  const w = await world('Slack', { DEVELOPER_PLATFORM: 'off' });
  const decided = await w.ask();
  await perform(w.deps, w.admin, OPERATIONS.withdraw, { identifier: decided.identifier });
  const { identifier } = await w.ask();
  await w.sendDue();
  expect(w.shown()).toEqual([
    `A request is waiting for a decision: key ${identifier} of profile 2.\nprofilectl keys show ${identifier}`,
  ]);
});

test('a request that arrives while a message is being sent is reported ten seconds later', async () => {
  const w = await world();
  const held: ServerResponse[] = [];
  w.webhook.answer = (response) => held.push(response);
  await w.ask();
  const sending = w.sendDue();
  while (held.length === 0) await Bun.sleep(5);
  const { identifier } = await w.ask();
  held[0]?.writeHead(200).end();
  await sending;
  w.shown();
  w.webhook.answer = status(200);
  await w.wait(10 * SECOND_MS);
  expect(w.shown()).toEqual([expect.stringContaining(identifier)]);
});

test('a failed delivery is reported even if its request has been decided since', async () => {
  const w = await world('Slack', { ADMIN_EMAIL: 'root@example.net' });
  smtp.failures.rcpt = '550 5.1.1 nobody';
  const { identifier } = await w.ask();
  delete smtp.failures.rcpt;
  await perform(w.deps, w.admin, OPERATIONS.withdraw, { identifier });
  await w.sendDue();
  expect(w.shown()).toEqual([expect.stringMatching(/^The request mail to ADMIN_EMAIL .* could not be delivered\.\n/)]);
});

test('the result of a webhook message does not affect mail delivery', async () => {
  const w = await world();
  for (let count = 0; count < 5; count++) {
    const { identifier } = await w.ask();
    await perform(w.deps, w.admin, OPERATIONS.reject, { identifier, reason: 'No.' });
  }
  await w.ask();
  smtp.failures.connect = '421 4.3.2 later';
  await w.sendDue();
  delete smtp.failures.connect;
  expect(w.webhook.posted).toHaveLength(1);
  expect(w.undelivered().filter(({ tries }) => tries > 0)).toHaveLength(3);
});

test('only the server sends messages, even if no mail can be sent, and commands show no warning', async () => {
  const w = await world('Slack', { ADMIN_EMAIL: 'root@example.net' });
  const { warning, identifier } = await w.ask();
  expect([warning, w.webhook.posted]).toEqual([null, []]);
  expect(readStatus(w.deps).notices).toEqual({ waiting: 0, oldestAt: null, undelivered: [] });
  await perform(w.deps, w.admin, OPERATIONS.reject, { identifier: (await w.ask()).identifier, reason: 'No.' });
  const { mail: _mail, ...rest } = w.deps.config;
  await sendDueNotices(
    { ...w.deps, config: { ...rest, mail: null }, mailer: async () => null },
    () => undefined,
    false,
  );
  expect(w.shown()).toEqual([expect.stringContaining(identifier)]);
  expect(w.undelivered()).toMatchObject([{ kind: 'rejection', tries: 0 }]);
});

test('the URL must be https, or http on this machine, and is not shown when it is refused', () => {
  for (const url of [
    'https://ntfy.example.org/t?tpl=1&m={{.text}}',
    'http://localhost:8065/hooks/x',
    'http://[::1]/x',
  ]) {
    expect(testConfig({ ADMIN_WEBHOOK_URL: url }).adminWebhook).toBe(url);
  }
  for (const url of [
    'http://example.org/s3cret',
    'ftp://127.0.0.1/s3cret',
    's3cret',
    'http://127.0.0.1.example.org/s3cret',
  ]) {
    expect(() => testConfig({ ADMIN_WEBHOOK_URL: url })).toThrow(
      /^ADMIN_WEBHOOK_URL must be an https URL, or an http URL on this machine\.$/,
    );
  }
});
