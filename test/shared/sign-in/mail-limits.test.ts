import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { DAY_MS } from '../../../shared/clock.ts';
import type { Db } from '../../../shared/db/connect.ts';
import { hashOf } from '../../../shared/sessions-file/tokens.ts';
import { openBrowserSecret } from '../../../shared/sign-in/browser-secret.ts';
import { type CodeRequest, enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { importLines } from '../../support/import.ts';
import { createMailCounter } from '../../support/mail/mail-counter.ts';
import { CLIENT, countingCodes, testAccess } from '../../support/portal/access.ts';
import { startActor } from '../../support/portal/sign-in-acts.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock } from '../../support/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const START_MS = Date.parse('2026-01-01T00:00:00Z');

const ADA = { id: 1, username: 'Ada', aliases: ['Countess', 'Straße'], email: 'Ada@example.org' };

/** Spellings of a name, each with the profile or the unknown name that it belongs to. */
const NAMES: readonly [string, string][] = [
  ['ada', '1'],
  ['ADA', '1'],
  [' ａｄａ ', '1'],
  ['countess', '1'],
  ['STRASSE'.replace('SS', 'ß'), '1'],
  ['nobody', 'nobody'],
  ['NOBODY', 'nobody'],
  ['\u0000', 'no name'],
];

/** Spellings of an e-mail address, each with the folded address. */
const ADDRESSES: readonly [string, string][] = [
  ['Ada@example.org', 'ada'],
  ['ada@EXAMPLE.org ', 'ada'],
  ['eve@example.org', 'eve'],
];

/** IP addresses, each with the networks of 64 and of 48 bits under which it is counted. */
const CLIENTS: readonly [string, string, string][] = [
  ['192.0.2.1', 'a', 'a'],
  ['192.0.2.2', 'b', 'b'],
  ['2001:db8:1:1::1', 'c', 'C'],
  ['2001:db8:1:1:ffff::2', 'c', 'C'],
  ['2001:0DB8:0001:2::', 'd', 'C'],
  ['2001:db8:2:1::1', 'e', 'E'],
];

/** A service with Ada, a browser that she has used, an adjustable clock, and no counts yet. */
async function world() {
  const clock = testClock(START_MS);
  const codes = countingCodes();
  const access = testAccess({ clock, random: codes.random });
  await importLines(access, [ADA]);
  const ask = (name: string, address: string, client = CLIENT.address, knownBrowser: string | null = null) =>
    requestCode(access, { name, address, browserSecret: null, knownBrowser, client: { ...CLIENT, address: client } });
  const { browserSecret } = ask('ada', 'ada@example.org');
  const entered = enterCode(access, { browserSecret, code: codes.lastCode(), knownBrowser: null, client: CLIENT });
  if (!entered.isSignedIn) throw new Error('not signed in');
  const { sqlite } = access.sessions;
  const forget = () => sqlite.run('DELETE FROM mail_counts');
  forget();
  /** Whether a request was admitted: then there is a code, even if nobody received it. */
  const isAdmitted = ({ browserSecret }: { browserSecret: string }) => {
    const secret = openBrowserSecret(access.sessions, browserSecret) as string;
    return sqlite.query('SELECT 1 FROM tickets WHERE used_at IS NULL AND found_by = ?').get(hashOf(secret)) !== null;
  };
  const mails = () => {
    try {
      return readdirSync(join(access.folder, 'mail')).filter((name) => name.endsWith('.eml')).length;
    } catch {
      return 0;
    }
  };
  return { access, clock, ask, known: entered.knownBrowser, forget, isAdmitted, mails };
}

/** Inserts this many other profiles. */
function insertOthers({ $client }: Db, length: number): { username: string; email: string }[] {
  $client.run(
    `INSERT INTO profiles (id, revision, written_at, followers_count, show_followers_count, show_on_leaderboard, links, profile,
       email)
     WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
     SELECT 10 + i, i, 0, 0, 1, 1, '{"links":[]}',
       json_object('id', 10 + i, 'username', 'u' || i, 'banned', json('false'), 'viewsCount', 0), 'u' || i || '@example.org' FROM n`,
    [length],
  );
  $client.run('INSERT INTO profile_names SELECT username, id, 0, username FROM profiles WHERE id >= 10');
  return Array.from({ length }, (_, n) => ({ username: `u${n}`, email: `u${n}@example.org` }));
}

const pick = (of: readonly unknown[]) => fc.nat(of.length - 1);
const pause = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, MINUTE_MS - 1, MINUTE_MS) },
  { weight: 3, arbitrary: fc.constantFrom(10 * MINUTE_MS, HOUR_MS - 1, HOUR_MS, 3 * HOUR_MS) },
  { weight: 1, arbitrary: fc.constantFrom(DAY_MS, 30 * DAY_MS) },
);
const jump = fc.oneof(
  { weight: 9, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(-1, -MINUTE_MS, -HOUR_MS, -DAY_MS, DAY_MS, 30 * DAY_MS) },
);
const STEPS = fc.array(fc.tuple(pick(NAMES), pick(ADDRESSES), pick(CLIENTS), fc.boolean(), fc.tuple(pause, jump)), {
  maxLength: 150,
  size: 'max',
});

type Asking = (at: number, ask: CodeRequest) => string | Promise<string>;

/** Makes requests with `asking`, and expects the ones to be admitted that a naive counter admits. */
async function expectCounted(
  asking: (of: Awaited<ReturnType<typeof world>>) => Asking | Promise<Asking>,
  runs: number,
) {
  const made = await world();
  const { clock, known, forget, isAdmitted } = made;
  const askBy = await asking(made);
  const property = fc.asyncProperty(STEPS, async (steps) => {
    forget();
    clock.jump(START_MS - clock.nowMs());
    const counter = createMailCounter();
    for (const [at, [nameAt, addressAt, clientAt, isKnown, [pauseMs, jumpMs]]] of steps.entries()) {
      clock.advance(pauseMs);
      clock.jump(jumpMs);
      const [name, profile] = NAMES[nameAt] as [string, string];
      const [typed, address] = ADDRESSES[addressAt] as [string, string];
      const [client, network, wideNetwork] = CLIENTS[clientAt] as [string, string, string];
      // Ada's browser is known for 90 days, and only for her profile.
      const age = clock.nowMs() - START_MS;
      const isOwn = isKnown && profile === '1' && age >= -MINUTE_MS && age < 90 * DAY_MS;
      const pair = `${profile} ${address}`;
      const under = isOwn
        ? { pair: `own ${pair}`, network: 'own', wideNetwork: 'own' }
        : { pair, network, wideNetwork };
      const browserSecret = await askBy(at, {
        ...{ name, address: typed, browserSecret: null },
        ...{ knownBrowser: isKnown ? known : null, client: { ...CLIENT, address: client } },
      });
      expect(isAdmitted({ browserSecret })).toBe(counter.ask(under, clock.nowMs()));
    }
  });
  await fc.assert(property, { numRuns: rounds(runs / 2), interruptAfterTimeLimit: 20_000 });
}

test('the limits agree with a naive counter, for all spellings of names, addresses and networks, and when the clock jumps', async () => {
  await expectCounted(
    ({ access }) =>
      (_at, ask) =>
        requestCode(access, ask).browserSecret,
    40,
  );
}, 30_000);

test('the limits agree with a naive counter, too, if two processes receive the requests in turn', async () => {
  await expectCounted(async ({ access, clock }) => {
    const other = await startActor(access.config.databasePath);
    return (at, ask) =>
      at % 2 === 0 ? requestCode(access, ask).browserSecret : other.act('ask', { ...ask, atMs: clock.nowMs() });
  }, 20);
}, 30_000);

test('strangers can cause at most 10 mails a day to an owner, and can’t lock out a browser that the owner has used', async () => {
  const { ask, clock, known, mails } = await world();
  const strangers = fc.sample(fc.tuple(fc.nat(4), fc.nat(1), fc.ipV6()), { numRuns: 600 });
  const hourly: number[] = [];
  for (const [at, [nameAt, addressAt, client]] of strangers.entries()) {
    clock.advance(DAY_MS / 200);
    await ask((NAMES[nameAt] as [string, string])[0], (ADDRESSES[addressAt] as [string, string])[0], client).mail();
    hourly.push(mails());
    // Once a day she requests a code herself.
    if (at % 200 !== 100) continue;
    const before = mails();
    await ask('ada', 'ada@example.org', '198.51.100.1', known).mail();
    expect(mails()).toBe(before + 1);
  }
  const own = (at: number) => Math.floor((at + 99) / 200);
  for (let at = 0; at + 200 < hourly.length; at++) {
    const inADay = (hourly[at + 200] as number) - own(at + 200) - ((hourly[at] as number) - own(at));
    expect(inADay).toBeLessThanOrEqual(10);
  }
  expect(mails()).toBeGreaterThan(30);
}, 20_000);

test('strangers with the same IP address, or a thousand mails to others, do not lock out a browser that the owner has used', async () => {
  const { access, ask, clock, known, mails } = await world();
  const [other] = insertOthers(access.db, 1);
  const strangersAsk = () => {
    for (let n = 0; n < 10; n++) ask(`stranger${n}`, 'x@example.org');
  };
  /** The number of mails that Ada gets when she requests a code. */
  const mailedTo = async (client: string, knownBrowser: string | null) => {
    const before = mails();
    await ask('ada', 'ada@example.org', client, knownBrowser).mail();
    return mails() - before;
  };
  strangersAsk();
  ask(other?.username ?? '', other?.email ?? '', '10.0.0.1');
  // The last row counts the mail that was sent.
  access.sessions.sqlite.run(
    `INSERT INTO mail_counts (counted_under, at) WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
     SELECT counted_under, at FROM n, (SELECT counted_under, at FROM mail_counts ORDER BY id DESC LIMIT 1)`,
  );
  expect(await mailedTo(CLIENT.address, known)).toBe(1);
  // The thousand mails lock out another browser, wherever it is, and strangers one with their IP address.
  expect(await mailedTo('198.51.100.1', null)).toBe(0);
  clock.advance(HOUR_MS);
  strangersAsk();
  expect(await mailedTo(CLIENT.address, null)).toBe(0);
  expect(await mailedTo('198.51.100.1', null)).toBe(1);
}, 20_000);

test('a network of 48 bits can make at most 100 requests an hour', async () => {
  const { ask, clock, isAdmitted } = await world();
  const from = (network: string, index: number) =>
    isAdmitted(ask(`user${index}`, 'x@example.org', `2001:db8:${network}:${index.toString(16)}::1`));
  const admitted = Array.from({ length: 110 }, (_, index) => from('7', index)).filter(Boolean).length;
  expect(admitted).toBe(100);
  expect(from('8', 200)).toBe(true);
  clock.advance(HOUR_MS);
  expect(from('7', 300)).toBe(true);
});

test('at most 1 000 mails an hour are sent; the log reports it, but responses do not', async () => {
  const { access, ask, clock } = await world();
  insertOthers(access.db, 1_001);
  const askAs = (index: number, address = `u${index}@example.org`) =>
    ask(`u${index}`, address, `10.${index >> 8}.${index & 255}.1`);
  for (let index = 0; index < 1_000; index++) askAs(index);
  const late = askAs(1_000);
  const never = askAs(1_001);
  expect(Object.keys(late)).toEqual(Object.keys(never));
  expect(await late.mail()).toBe('A sign-in mail was not sent: 1000 were sent in the last hour, which is the limit.');
  expect(await never.mail()).toBeNull();
  clock.advance(HOUR_MS);
  expect(await askAs(1_000).mail()).toBeNull();
}, 20_000);
