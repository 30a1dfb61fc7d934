import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { openFile } from '../../../shared/db/connect.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { quotaPath } from '../../../shared/limits/file/store.ts';
import { systemRandom } from '../../../shared/random.ts';
import { cleanEnvironment, profilectlWords } from '../../support/cli.ts';
import { get, startTestServer } from '../../support/http.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { HAS_STRACE } from '../../support/machine/strace.ts';
import { parseItems } from '../../support/network/structured-fields.ts';
import { keyFor } from '../../support/requests.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { remainingInFile } from '../../support/storage/quota-file.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

// Rate limits of real server processes that are stopped and killed, and what clients and strangers see of them.

const MIB = 1_048_576;

/** The `r` of each limit in a response. */
function remaining(answer: Response): number[] {
  return parseItems(answer.headers.get('ratelimit') ?? '').map(({ parameters }) => parameters.get('r') as number);
}

async function world(rateLimits = ['100000/1d', '50000/31d']) {
  const deps = testDeps();
  const { secret, identifier } = await keyFor(deps, rateLimits);
  const variables = { DATABASE_PATH: deps.config.databasePath };
  return { deps, secret, identifier, variables };
}

describe('when a server process ends', () => {
  const random = seededRandom('killed servers that count');

  test.skipIf(!HAS_STRACE)(
    'a failed read of the quota file loses nothing',
    async () => {
      const { deps, secret, identifier, variables } = await world(['100/1d']);
      const path = quotaPath(deps.config.databasePath);
      const first = await startServerProcess(variables);
      await get(first, '/api/lookup/uid/1', secret);
      expect(await first.end()).toBe(0);
      for (const when of [1, 3]) {
        const trace = join(tempFolder(), 'trace');
        const fault = `inject=pread64:error=EIO:when=${when}`;
        const strace = ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-o', trace, '-e', fault, '-P', path];
        const server = await startServerProcess(variables, { words: [...strace, ...profilectlWords(['serve'])] });
        expect(readFileSync(trace, 'utf8')).toContain('INJECTED');
        // If the file could not even be opened, the ledger tries again when it saves.
        await server.end();
        expect(readdirSync(deps.folder).filter((name) => name.includes('unreadable'))).toEqual([]);
        const limit = { quota: 100, windowSeconds: 86_400 };
        expect(remainingInFile(deps.config.databasePath, identifier, limit)).toBe(99);
      }
    },
    60_000,
  );

  test('SIGKILL at any moment loses at most the last second and never counts unsent requests', async () => {
    const losses: number[] = [];
    // One after long enough that the first requests must have been saved, and others at any moment.
    const waiting = [1_200 + random() * 800, ...fc.sample(fc.integer({ min: 50, max: 1_800 }), rounds(3))];
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
      const surely = answeredAt.filter((at) => at < killedAt - 1_000).length;
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
  for (let turn = 0; turn < rounds(40); turn++) {
    for (const text of wrong) expect([401, 429]).toContain((await get(server, '/api/lookup/uid/1', text)).status);
    if (turn % 10 === 0) server.deps.clock.advance(61_000);
  }
  expect(remaining(await get(server, '/api/key', secret))).toEqual([5]);
  await server.stop();
  const file = openFile(quotaPath(server.deps.config.databasePath), 1_000);
  expect(file.query("SELECT count(*) AS rows FROM log WHERE identifiers <> ''").get()).toEqual({ rows: 0 });
  file.close();
});

test('a key with used-up default limits takes less than 10 kB, and is restored from the file', async () => {
  const words = [join(import.meta.dir, 'quotas-child.ts'), join(tempFolder(), 'profiles.db'), `${rounds(10_000)}`];
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
          const policy = parseItems(answer.headers.get('ratelimit-policy') ?? '');
          expect(policy.map(({ parameters: of }) => ({ quota: of.get('q'), windowSeconds: of.get('w') }))).toEqual(
            granted,
          );
          const shown = parseItems(answer.headers.get('ratelimit') ?? '');
          const listed = mayPass ? granted : granted.filter(({ quota, windowSeconds: w }) => usedOf(w, now) >= quota);
          const named = policy.filter(({ parameters }) =>
            listed.some((of) => of.windowSeconds === parameters.get('w')),
          );
          expect(shown.map(({ value }) => value)).toEqual(named.map(({ value }) => value));
          for (const [index, { quota, windowSeconds }] of listed.entries()) {
            const { parameters } = shown[index] as (typeof shown)[number];
            const left = parameters.get('r') as number;
            const within = parameters.get('t') as number;
            expect([...parameters.keys()]).toEqual(['r', 't']);
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
      { numRuns: rounds(30) },
    );
  }, 60_000);
});
