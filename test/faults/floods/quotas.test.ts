import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { openFile } from '../../../shared/db/connect.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { readQuotaRows } from '../../../shared/limits/stored.ts';
import { systemRandom } from '../../../shared/random.ts';
import { cleanEnvironment } from '../../support/cli.ts';
import { get, startTestServer } from '../../support/http.ts';
import { keyFor } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { eventually, testDeps } from '../../support/world.ts';

// Rate limits of real server processes that are stopped and killed, and what clients and strangers see of them.

const MIB = 1_048_576;

/** The items of a rate-limit header (a structured field, RFC 9651), such as `"1m";r=59;t=60`. Throws if it has another form. */
function itemsOf(header: string | null) {
  return (header ?? '').split(', ').map((item) => {
    const [, name = '', numbers = ''] = /^"(\w+)"((?:;[a-z]=\d{1,15})+)$/.exec(item) ?? [];
    if (name === '') throw new Error(`This is no item: ${item}`);
    const of = [...numbers.matchAll(/;(.)=(\d+)/g)].map(([, key = '', value]) => [key, Number(value)] as const);
    return { name, of: Object.fromEntries(of) as Record<string, number> };
  });
}

/** The `r` of each limit in a response. */
function remaining(answer: Response): number[] {
  return itemsOf(answer.headers.get('ratelimit')).map(({ of }) => of.r as number);
}

async function world(rateLimits = ['100000/1d', '50000/31d']) {
  const deps = testDeps();
  const { secret, identifier } = await keyFor(deps, rateLimits);
  const variables = { DATABASE_PATH: deps.config.databasePath };
  return { deps, secret, identifier, variables };
}

describe('when a server process ends', () => {
  const random = seededRandom('killed servers that count');

  test('SIGKILL at any moment loses at most the last two seconds and never counts unsent requests', async () => {
    const losses: number[] = [];
    // One after long enough that the first requests must have been saved, and others at any moment.
    const waiting = [2_200 + random() * 800, ...fc.sample(fc.integer({ min: 50, max: 2_800 }), rounds(1))];
    const runs = waiting.length;
    const kill = async (afterMs: number): Promise<void> => {
      const { secret, variables } = await world();
      const server = await startServerProcess(variables);
      const answeredAt: number[] = [];
      let asked = 0;
      let isKilled = false;
      const client = async () => {
        while (!isKilled) {
          asked++;
          const answer = await get(server, '/api/lookup/uid/1', secret).catch(() => null);
          if (answer === null) return;
          answeredAt.push(performance.now());
          await answer.arrayBuffer().catch(() => null);
          await Bun.sleep(10);
        }
      };
      const clients = [client(), client()];
      await Bun.sleep(afterMs);
      isKilled = true;
      const killedAt = performance.now();
      await server.end('SIGKILL');
      await Promise.all(clients);
      const again = await startServerProcess(variables);
      const [day = 0, month = 0] = remaining(await get(again, '/api/key', secret));
      await again.end('SIGKILL');
      const counted = 100_000 - day;
      expect(counted).toBe(50_000 - month);
      const surely = answeredAt.filter((at) => at < killedAt - 2_000).length;
      expect(counted).toBeGreaterThanOrEqual(surely);
      expect(counted).toBeLessThanOrEqual(asked);
      const lost = answeredAt[counted];
      losses.push(lost === undefined ? 0 : Math.max(0, Math.round(killedAt - lost)));
    };
    const line = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await kill(next);
    };
    await Promise.all([line(), line(), line()]);
    process.stderr.write(`killed servers: ${runs}, forgotten at most ${Math.max(...losses)} ms\n`);
  }, 60_000);
});

test('while another process holds the write lock, requests are answered; what they spent is stored once it is released', async () => {
  const { deps, secret, variables } = await world();
  const server = await startServerProcess(variables);
  const other = openFile(deps.config.databasePath, 0);
  other.run('BEGIN IMMEDIATE');
  const begunAt = performance.now();
  let asked = 0;
  while (performance.now() < begunAt + 2_500) {
    expect((await get(server, '/api/lookup/uid/1', secret)).status).toBe(404);
    asked++;
    await Bun.sleep(50);
  }
  expect(readQuotaRows(other)).toEqual([]);
  other.run('ROLLBACK');
  other.close();
  await eventually(() => readQuotaRows(deps.db.$client).length > 0);
  await server.end('SIGKILL');
  const again = await startServerProcess(variables);
  expect(remaining(await get(again, '/api/key', secret))[0]).toBe(100_000 - asked);
  // A server that stops waits for the lock.
  const locked = openFile(deps.config.databasePath, 0);
  locked.run('BEGIN IMMEDIATE');
  await get(again, '/api/lookup/uid/1', secret);
  const ended = again.end('SIGTERM');
  await Bun.sleep(1_500);
  locked.run('ROLLBACK');
  locked.close();
  expect(await ended).toBe(0);
  const last = await startServerProcess(variables);
  expect(remaining(await get(last, '/api/key', secret))[0]).toBe(100_000 - asked - 1);
  await last.end('SIGKILL');
}, 60_000);

test('failed authentications never use a key’s quota, even if they name the key', async () => {
  const server = await startTestServer();
  const { secret, identifier } = await keyFor(server.deps, ['5/1d']);
  const wrong = [
    newSecret(identifier, systemRandom),
    `${secret}0`,
    secret.slice(0, -1),
    secret.toLowerCase(),
    identifier,
  ];
  for (let turn = 0; turn < rounds(5); turn++) {
    for (const text of wrong) expect([401, 429]).toContain((await get(server, '/api/lookup/uid/1', text)).status);
    if (turn % 10 === 0) server.deps.clock.advance(61_000);
  }
  expect(remaining(await get(server, '/api/key', secret))).toEqual([5]);
  await server.stop();
  expect(readQuotaRows(server.deps.db.$client).filter(({ spent }) => spent.includes('[1,'))).toEqual([]);
});

test('a key with used-up default limits takes less than 10 kB, and is restored', async () => {
  const words = [join(import.meta.dir, 'quotas-child.ts'), `${rounds(3_000)}`];
  // Not with the settings of test processes, which keep freed memory.
  const options = { env: cleanEnvironment(), stdout: 'pipe', stderr: 'inherit' } as const;
  const child = Bun.spawn([process.execPath, ...words], options);
  const { keys, admitted, used, refused } = JSON.parse(await child.stdout.text());
  process.stderr.write(`${keys} used-up keys: ${Math.round(used / MIB)} MiB\n`);
  expect({ admitted, refused }).toEqual({ admitted: 5_000 * keys, refused: keys });
  expect(used / keys).toBeLessThan(10_000);
}, 60_000);

describe('the RateLimit headers are correct', () => {
  const windows = [1, 2, 10, 60, 3_600];
  const limit = fc.record({ quota: fc.integer({ min: 1, max: 6 }), windowSeconds: fc.constantFrom(...windows) });
  const limits = fc.uniqueArray(limit, { minLength: 1, maxLength: 4, selector: ({ windowSeconds }) => windowSeconds });
  const waits = fc.array(fc.oneof(fc.constantFrom(0, 0, 0, 999, 1_000, 1_001), fc.integer({ min: 0, max: 12_000 })), {
    minLength: 4,
    maxLength: 25,
  });

  test('for any limits and any client: the policy, the remaining quota, its window, and Retry-After', async () => {
    const server = await startTestServer();
    const { clock } = server.deps;
    await fc.assert(
      fc.asyncProperty(limits, waits, async (granted, pauses) => {
        const { secret } = await keyFor(
          server.deps,
          granted.map(({ quota, windowSeconds }) => `${quota}/${windowSeconds}s`),
        );
        const admitted: number[] = [];
        const usedOf = (windowSeconds: number, at: number) =>
          admitted.filter((time) => at - time <= windowSeconds * 1_000).length;
        for (const pause of pauses) {
          clock.advance(pause);
          const now = clock.monotonicMs();
          const mayPass = granted.every(({ quota, windowSeconds }) => usedOf(windowSeconds, now) < quota);
          const answer = await get(server, '/api/lookup/uid/1', secret);
          expect(answer.status).toBe(mayPass ? 404 : 429);
          if (mayPass) admitted.push(now);
          const policy = itemsOf(answer.headers.get('ratelimit-policy'));
          expect(policy.map(({ of }) => ({ quota: of.q, windowSeconds: of.w }))).toEqual(granted);
          const shown = itemsOf(answer.headers.get('ratelimit'));
          const listed = mayPass ? granted : granted.filter(({ quota, windowSeconds: w }) => usedOf(w, now) >= quota);
          const named = policy.filter(({ of }) => listed.some(({ windowSeconds }) => windowSeconds === of.w));
          expect(shown.map(({ name }) => name)).toEqual(named.map(({ name }) => name));
          for (const [index, { quota, windowSeconds }] of listed.entries()) {
            const { r: left = -1, t: within = -1, ...more } = shown[index]?.of ?? {};
            expect(more).toEqual({});
            expect(left).toBe(quota - usedOf(windowSeconds, now));
            // Within t seconds no more than r can be used; one second later more can be, or t is the whole window.
            expect(quota - usedOf(windowSeconds, now + within * 1_000)).toBe(left);
            if (left < quota) expect(quota - usedOf(windowSeconds, now + (within + 1) * 1_000)).toBeGreaterThan(left);
            else expect(within).toBe(windowSeconds);
          }
          if (mayPass) continue;
          const wait = Number(answer.headers.get('retry-after'));
          const passesAt = (at: number) =>
            granted.every(({ quota, windowSeconds }) => usedOf(windowSeconds, at) < quota);
          expect([passesAt(now + wait * 1_000), passesAt(now + (wait - 1) * 1_000)]).toEqual([true, false]);
        }
      }),
      { numRuns: rounds(8) },
    );
  }, 60_000);
});
