import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { systemClock } from '../../../shared/clock.ts';
import type { KeyChanges } from '../../../shared/db/schema.ts';
import type { Deps } from '../../../shared/deps.ts';
import { checkDatabase } from '../../../shared/files/copy.ts';
import { changeKey } from '../../../shared/keys/life.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { formatRateLimit, parseRateLimits, type RateLimit } from '../../../shared/limits/rate-limit.ts';
import { commandEnvironment, PROJECT, profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { issue, request } from '../../support/keys.ts';
import { type ServerProcess, startServerProcess } from '../../support/machine.ts';
import { insertProfile } from '../../support/profiles.ts';
import { keyFor } from '../../support/requests.ts';
import { rounds } from '../../support/rounds.ts';
import { leftIn } from '../../support/storage.ts';
import { onBox, testDeps } from '../../support/world.ts';

// Changes of Active keys by real processes: killed, made at the same time, and applied by servers that count requests.

/** A change applies on a server at most this long after its commit. */
const TAKES_EFFECT_MS = 10;

describe('changes that are killed, or made at the same time', () => {
  const deps = testDeps();
  const FIRST = '60/1m';
  let nextId = 1;

  /** Makes an Active key of a new profile. */
  async function newKey(): Promise<{ profile: string; identifier: string }> {
    const profile = `user${insertProfile(deps.db, { id: nextId++ })}`;
    const { identifier } = await issue(deps, { profile }, { rateLimits: parseRateLimits([FIRST]) });
    return { profile, identifier };
  }

  /** Runs commands at once and kills the first one after `killAfterMs`; returns their exit codes. */
  async function runAtOnce(commands: readonly string[][], killAfterMs: number | null): Promise<(number | null)[]> {
    const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${deps.folder}/mail` };
    const children = commands.map((words) =>
      Bun.spawn(profilectlWords(words), {
        env: commandEnvironment(variables),
        cwd: PROJECT,
        stdio: ['ignore', 'ignore', 'ignore'],
      }),
    );
    const timer = killAfterMs === null ? null : setTimeout(() => children[0]?.kill('SIGKILL'), killAfterMs);
    const codes = await Promise.all(children.map(({ exited }) => exited));
    if (timer !== null) clearTimeout(timer);
    return codes;
  }

  /** Checks that each change continues from the one before, the last one to the current key; returns the limits set. */
  function expectWhole(identifier: string): string[] {
    const key = showKey(deps, identifier);
    const granted = { permissions: ['api.lookup'], rateLimits: parseRateLimits([FIRST]), expiresAt: null };
    const standing: Record<string, unknown> = { ...granted };
    const limits: string[] = [];
    for (const { event, detail } of keyHistory(deps, identifier)) {
      if (event !== 'changed') continue;
      for (const [field, change] of Object.entries(detail?.changes as KeyChanges)) {
        expect<unknown>([field, change.from]).toEqual([field, standing[field]]);
        standing[field] = change.to;
        if (field === 'rateLimits') limits.push((change.to as RateLimit[]).map(formatRateLimit).join());
      }
    }
    const { permissions, rateLimits, expiresAt } = key;
    expect<unknown>({ permissions, rateLimits, expiresAt }).toEqual(standing);
    return limits;
  }

  /** How long a complete change takes here, in milliseconds, measured once. */
  let measured: Promise<number> | undefined;
  const changeMs = () => (measured ??= timeChange());
  async function timeChange(): Promise<number> {
    const { identifier } = await newKey();
    const startedAt = performance.now();
    expect(await runAtOnce([['keys', 'change', identifier, '--rate-limit', '7/1h']], null)).toEqual([0]);
    return performance.now() - startedAt;
  }

  const expectSound = () => expect(checkDatabase(deps.db).faults).toEqual([]);

  test('a change killed at any time is stored with its history as a whole, or not at all', async () => {
    const wholeMs = await changeMs();
    const kills = fc.sample(fc.integer({ min: 10, max: 150 }), rounds(3)).map((part) => (wholeMs * part) / 100);
    const outcomes = { changed: 0, asBefore: 0 };
    const runOne = async (afterMs: number) => {
      const { identifier } = await newKey();
      const change = ['keys', 'change', identifier, '--rate-limit', '7/1h', '--expires', '30d', '--permission'];
      await runAtOnce([[...change, 'api.lookup', 'api.leaderboard']], afterMs);
      expectWhole(identifier);
      const { permissions, rateLimits, expiresAt } = showKey(deps, identifier);
      const isChanged = permissions.length === 2;
      expect([rateLimits[0]?.quota, expiresAt !== null]).toEqual(isChanged ? [7, true] : [60, false]);
      outcomes[isChanged ? 'changed' : 'asBefore']++;
    };
    for (let at = 0; at < kills.length; at += 2) await Promise.all(kills.slice(at, at + 2).map(runOne));
    process.stderr.write(`killed changes: ${JSON.stringify(outcomes)}\n`);
    expectSound();
  }, 120_000);

  test('simultaneous changes build on each other, or are refused because they were confirmed for an older version of the key', async () => {
    const wholeMs = await changeMs();
    const kills = fc.sample(fc.integer({ min: 30, max: 200 }), rounds(1)).map((part) => (wholeMs * part) / 100);
    for (const killAfterMs of [null, ...kills]) {
      const { identifier } = await newKey();
      const limits = ['7/1h', '8/1h', '9/1h'];
      const commands = limits.map((limit) => ['keys', 'change', identifier, '--rate-limit', limit]);
      const codes = await runAtOnce(commands, killAfterMs);
      for (const code of codes.slice(1)) expect([0, 1]).toContain(code as number);
      const done = limits.filter((_limit, at) => codes[at] === 0);
      const found = expectWhole(identifier);
      // The killed one may have been stored, too.
      expect([done, limits.slice(0, 1).concat(done)].map((some) => some.toSorted())).toContainEqual(found.toSorted());
      expect(found.length).toBeGreaterThan(0);
    }
    expectSound();
  }, 120_000);

  test('a simultaneous change and revocation both succeed, the revocation last, or one is refused', async () => {
    for (let turn = 0; turn < rounds(1); turn++) {
      const { identifier } = await newKey();
      const [changed, revoked] = await runAtOnce(
        [
          ['keys', 'change', identifier, '--expires', '30d'],
          ['keys', 'revoke', identifier, '--reason', 'Leaked.'],
        ],
        null,
      );
      const events = keyHistory(deps, identifier).map(({ event }) => event);
      const done = [changed === 0 ? 'changed' : null, revoked === 0 ? 'revoked' : null].filter(
        (event) => event !== null,
      );
      expect(done.length).toBeGreaterThan(0);
      expect<unknown>(events.slice(-done.length)).toEqual(done);
      expect(showKey(deps, identifier).state).toBe(revoked === 0 ? 'revoked' : 'Active');
    }
    expectSound();
  }, 120_000);

  test('a killed approval of a replacement key retires the old key if, and only if, the replacement is Active', async () => {
    const outcomes: Record<string, number> = {};
    const wholeMs = await changeMs();
    const kills = fc.sample(fc.integer({ min: 30, max: 250 }), rounds(3)).map((part) => (wholeMs * part) / 100);
    const runOne = async (afterMs: number | null) => {
      const { identifier: old } = await newKey();
      const { profile } = showKey(deps, old) as { profile: string };
      const successor = await request(deps, { profile, successorOf: old });
      const approve = ['keys', 'approve', successor, '--retire-old', '7d'];
      const change = ['keys', 'change', old, '--rate-limit', '7/1h'];
      // The approval that is not killed has no simultaneous change, which could get it refused.
      const [, changed] = await runAtOnce(afterMs === null ? [approve] : [approve, change], afterMs);
      expectWhole(old);
      const { state } = showKey(deps, successor);
      outcomes[state] = (outcomes[state] ?? 0) + 1;
      expect(showKey(deps, old).expiresAt !== null).toBe(state === 'Active');
      expect(showKey(deps, old).rateLimits.map(formatRateLimit)).toEqual([changed === 0 ? '7/1h' : FIRST]);
    };
    await runOne(null);
    for (let at = 0; at < kills.length; at += 2) await Promise.all(kills.slice(at, at + 2).map(runOne));
    process.stderr.write(`killed approvals of successors: ${JSON.stringify(outcomes)}\n`);
    expect(outcomes.Active).toBeGreaterThan(0);
    expectSound();
  }, 120_000);
});

/** A server process, and the key whose admitted requests are counted. */
type Counted = { server: ServerProcess; secret: string };

/**
 * Looks `names` profiles up on a new connection, so that every worker takes part. Returns whether that was admitted.
 */
async function isAdmitted({ server, secret }: Counted, names: number): Promise<boolean> {
  const query = Array.from({ length: names }, (_, at) => `uid=${at + 1}`).join('&');
  const { status } = await get(server, `/api/lookup?${query}`, secret, { headers: { Connection: 'close' } });
  expect([200, 429]).toContain(status);
  return status === 200;
}

/** Uses up what is left, in decreasing steps no larger than the quota. Returns how much was admitted. */
async function spendAll(counted: Counted, quota: number): Promise<number> {
  let spent = 0;
  for (const step of [100, 10, 1].filter((size) => size <= quota)) {
    while (await isAdmitted(counted, step)) spent += step;
  }
  return spent;
}

/** Changes the rate limits of a key, without a mail. */
function change(deps: Deps, identifier: string, ...limits: string[]) {
  return changeKey(deps, { identifier, change: { rateLimits: parseRateLimits(limits) }, by: onBox('admin') });
}

describe('a running server', () => {
  test('applies a changed limit exactly from 10 ms after the commit, also after a restart and a crash', async () => {
    const deps = testDeps();
    const { secret, identifier } = await keyFor(deps, ['30/1h']);
    const variables = { DATABASE_PATH: deps.config.databasePath };
    const counted: Counted = { server: await startServerProcess(variables), secret };
    /** Used within the window of an hour, in which nothing expires during this test, and within that of a day. */
    const spent = { hour: 0, day: 0 };
    const expectRoom = async (room: number, quota: number) => {
      await Bun.sleep(TAKES_EFFECT_MS);
      expect(await spendAll(counted, quota)).toBe(room);
      spent.hour += room;
      spent.day += room;
    };
    for (let at = 0; at < 20; at++) expect(await isAdmitted(counted, 1)).toBe(true);
    spent.hour = 20;
    for (const [quota, room] of [
      [25, 5],
      [10, 0],
      [26, 1],
      [1_000, 974],
      [500, 0],
    ] as const) {
      await change(deps, identifier, `${quota}/1h`);
      await expectRoom(room, quota);
    }
    // The limit per day is a new window, which starts empty.
    await change(deps, identifier, '1100/1h', '40/1d');
    spent.day = 0;
    await expectRoom(40, 40);
    expect(await counted.server.end('SIGTERM')).toBe(0);
    await change(deps, identifier, '1100/1h', '50/1d');
    counted.server = await startServerProcess(variables);
    await expectRoom(10, 50);
    const limit = { quota: 1_100, windowSeconds: 3_600 };
    const until = performance.now() + 10_000;
    const key = { identifier, rateLimits: [limit] };
    while (leftIn(deps.db.$client, key, systemClock)[0] !== 50 && performance.now() < until) {
      await Bun.sleep(20);
    }
    await counted.server.end('SIGKILL');
    counted.server = await startServerProcess(variables);
    await change(deps, identifier, '1010/1h', '100/1d');
    await expectRoom(0, 100);
    await change(deps, identifier, '1060/1h', '100/1d');
    await expectRoom(10, 100);
    expect(spent).toEqual({ hour: 1_060, day: 60 });
    expect(await counted.server.end()).toBe(0);
  }, 60_000);

  test('admits at most the new quota and at least 99.9% of it when quotas above 1 024 change under load', async () => {
    const deps = testDeps();
    const { secret, identifier } = await keyFor(deps, ['1500/1h']);
    const server = await startServerProcess({ DATABASE_PATH: deps.config.databasePath });
    const counted = { server, secret };
    let spent = 0;
    for (const quota of [3_000, 900, 3_500, 5_000]) {
      let isDone = false;
      // Four clients send requests throughout, so that it sees the change between requests.
      const clients = Array.from({ length: 4 }, async () => {
        while (!isDone) if (await isAdmitted(counted, 50)) spent += 50;
      });
      await Bun.sleep(TAKES_EFFECT_MS);
      await change(deps, identifier, `${quota}/1h`);
      await Bun.sleep(TAKES_EFFECT_MS);
      const before = spent;
      isDone = true;
      await Promise.all(clients);
      spent += await spendAll(counted, quota);
      // Requests admitted under a larger quota before the change stay counted.
      expect(spent).toBeLessThanOrEqual(Math.max(quota, before));
      expect(spent).toBeGreaterThanOrEqual(Math.min(quota, 5_000) - Math.ceil(5_000 / 1_000));
    }
    expect(await server.end()).toBe(0);
  }, 60_000);
});
