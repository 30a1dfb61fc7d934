import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { performAndSend } from '../../../../cli/keys/context.ts';
import { showKey } from '../../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../../shared/operations.ts';
import { readStatus } from '../../../../shared/upkeep/status.ts';
import { onBox } from '../../../support/actors.ts';
import { DESCRIPTION } from '../../../support/keys.ts';
import { sendDueNotices } from '../../../support/mail/notices.ts';
import { startSmtp } from '../../../support/mail/smtp.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { rounds } from '../../../support/rounds.ts';
import { testClock, testDeps } from '../../../support/world.ts';

// ADMIN_EMAIL is notified of a request at once, unless a mail about requests was sent within the last hour; then all
// requests of the hour share one mail at its end.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const smtp = await startSmtp();

/** A database with some profiles, and what commands and the server do with requests. */
function world(adminEmails = 'root@example.net') {
  const clock = testClock();
  const variables = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org', ADMIN_EMAIL: adminEmails };
  const deps = testDeps({ clock, variables });
  smtp.received.length = 0;
  for (const name of Object.keys(smtp.failures)) delete smtp.failures[name as keyof typeof smtp.failures];
  for (let id = 1; id <= 9; id++) insertProfile(deps.db, { id });
  let asked = 0;
  const ask = async () => {
    const fields = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };
    const profile = `user${(asked++ % 9) + 1}`;
    return performAndSend(deps, onBox('root'), OPERATIONS.request, { ...fields, profile });
  };
  const withdraw = (identifier: string) => performAndSend(deps, onBox('root'), OPERATIONS.withdraw, { identifier });
  const sendDue = () => sendDueNotices(deps, () => undefined, false);
  /** Advances the time; the server checks once a minute. */
  const wait = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      clock.advance(MINUTE_MS);
      await sendDue();
    }
  };
  /** The mails since the last call: the recipient, and the keys named in each. */
  const mailed = () =>
    smtp.received
      .splice(0)
      .map(({ to, raw }) => [
        to[0]?.replace('@example.net', ''),
        ...[...raw.slice(0, raw.indexOf('text/html')).matchAll(/^ +Identifier +(\w{8})\r$/gm)].map(([, key]) => key),
      ]);
  return { clock, deps, ask, withdraw, sendDue, wait, mailed };
}

describe('requests within an hour', () => {
  test('are reported in one mail at its end, without earlier warnings', async () => {
    const w = world();
    const first = await w.ask();
    expect(w.mailed()).toEqual([['root', first.identifier]]);
    await w.wait(10);
    const second = await w.ask();
    const third = await w.ask();
    expect([second.warning, third.warning]).toEqual([null, null]);
    expect(readStatus(w.deps).notices).toEqual({ waiting: 0, oldestAt: null, undelivered: [] });
    await w.wait(49);
    expect(w.mailed()).toEqual([]);
    await w.wait(1);
    expect(w.mailed()).toEqual([['root', second.identifier, third.identifier]]);
    const fourth = await w.ask();
    await w.wait(59);
    expect(w.mailed()).toEqual([]);
    await w.wait(1);
    expect(w.mailed()).toEqual([['root', fourth.identifier]]);
    await w.wait(60);
    const fifth = await w.ask();
    expect(w.mailed()).toEqual([['root', fifth.identifier]]);
  });

  test('that have been decided are left out; if none is left no mail is sent, and the next request is reported at once', async () => {
    const w = world();
    await w.ask();
    const [gone, stays] = [await w.ask(), await w.ask()];
    await w.withdraw(gone.identifier);
    w.mailed();
    await w.wait(60);
    expect(w.mailed()).toEqual([['root', stays.identifier]]);
    await w.withdraw((await w.ask()).identifier);
    await w.wait(61);
    const next = await w.ask();
    expect(w.mailed()).toEqual([['root', next.identifier]]);
  });

  test('are collected separately for each address of ADMIN_EMAIL', async () => {
    const w = world('root@example.net, ops@example.net');
    const first = await w.ask();
    expect(w.mailed()).toEqual(['root', 'ops'].map((name) => [name, first.identifier]));
    const second = await w.ask();
    await w.wait(60);
    expect(w.mailed()).toEqual(['root', 'ops'].map((name) => [name, second.identifier]));
  });

  test('are reported even if the server was stopped at the end of the hour', async () => {
    const w = world();
    await w.ask();
    const { identifier } = await w.ask();
    w.mailed();
    w.clock.advance(5 * HOUR_MS);
    expect(readStatus(w.deps).notices).toMatchObject({ waiting: 1 });
    await w.sendDue();
    expect(w.mailed()).toEqual([['root', identifier]]);
  });
});

describe('a mail server that is down', () => {
  test('makes requests wait together; once it is up they are sent in one mail', async () => {
    const w = world();
    smtp.failures.connect = '421 4.3.2 down';
    const asked = [await w.ask(), await w.ask(), await w.ask()].map(({ identifier }) => identifier);
    await w.wait(5);
    delete smtp.failures.connect;
    await w.wait(130);
    expect(w.mailed()).toEqual([['root', ...asked]]);
  });

  test('that refuses the address ends all notices in the mail', async () => {
    const w = world();
    await w.ask();
    const { identifier } = await w.ask();
    await w.ask();
    smtp.failures.rcpt = '550 5.1.1 no such user';
    await w.wait(61);
    delete smtp.failures.rcpt;
    expect(readStatus(w.deps).notices?.undelivered.map(({ result }) => result)).toEqual(['refused', 'refused']);
    expect(readStatus(w.deps).notices?.undelivered[0]?.identifier).toBe(identifier);
  });
});

test('if a sender crashes with several leased requests, the next one sends all of them after the lease', async () => {
  const w = world();
  const first = await w.ask();
  const [second, third] = [await w.ask(), await w.ask()];
  expect(w.mailed()).toEqual([['root', first.identifier]]);
  w.clock.advance(HOUR_MS);
  const begun = Promise.withResolvers<void>();
  const hang = () => {
    begun.resolve();
    return new Promise<never>(() => undefined);
  };
  void sendDueNotices({ ...w.deps, mailer: async () => ({ send: hang, check: hang }) }, () => undefined, false);
  await begun.promise;
  const fourth = await w.ask();
  await w.wait(1);
  expect(w.mailed()).toEqual([]);
  await w.wait(1);
  expect(w.mailed()).toEqual([['root', second.identifier, third.identifier, fourth.identifier]]);
  await w.wait(60);
  expect(w.mailed()).toEqual([]);
});

test('in any order of requests, decisions and failures, mails are an hour apart, and each request is reported once in time', async () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant('ask' as const) },
    { weight: 1, arbitrary: fc.constant('withdraw' as const) },
    { weight: 1, arbitrary: fc.constant('fail' as const) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 45 }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      const w = world();
      const keys = new Map<string, { askedAt: number; isGone: boolean; toldAt: number[] }>();
      let lastAt = Number.NEGATIVE_INFINITY;
      let wasDown = false;
      const take = () => {
        for (const [, ...named] of w.mailed()) {
          expect(w.clock.nowMs() - lastAt).toBeGreaterThanOrEqual(HOUR_MS);
          lastAt = w.clock.nowMs();
          for (const key of named) keys.get(key as string)?.toldAt.push(lastAt);
        }
      };
      const minutes = async (count: number) => {
        for (let minute = 0; minute < count; minute++) {
          await w.wait(1);
          take();
        }
      };
      for (const what of steps) {
        const pending = [...keys].filter(([key]) => showKey(w.deps, key).state === 'pending');
        if (what === 'fail') {
          smtp.failures.mail = '451 4.3.0 not now';
          await minutes(3);
          delete smtp.failures.mail;
          wasDown = true;
        } else if (what === 'withdraw' && pending[0] !== undefined) {
          await w.withdraw(pending[0][0]);
          pending[0][1].isGone = true;
        } else if (what === 'ask' && pending.length < 9) {
          const askedAt = w.clock.nowMs();
          const { identifier } = await w.ask();
          keys.set(identifier, { askedAt, isGone: false, toldAt: [] });
          // A mail that was sent with the request itself.
          take();
        } else if (typeof what === 'number') await minutes(what);
      }
      await minutes(75);
      for (const { askedAt, isGone, toldAt } of keys.values()) {
        if (isGone) expect(toldAt.length).toBeLessThanOrEqual(1);
        else expect(toldAt).toHaveLength(1);
        if (!isGone && !wasDown) expect((toldAt[0] as number) - askedAt).toBeLessThanOrEqual(HOUR_MS + MINUTE_MS);
      }
      w.deps.db.$client.close();
    }),
    { numRuns: rounds(8) },
  );
});
