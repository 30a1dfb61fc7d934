import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startServer } from '../../../server/main.ts';
import type { RunningServer } from '../../../server/process/running-server.ts';
import { revokeKey } from '../../../shared/keys/life/lifecycle.ts';
import { keyUsage } from '../../../shared/usage/usage-view.ts';
import { onBox } from '../../support/actors.ts';
import { get, type LogLine } from '../../support/http.ts';
import { moveByAdmin } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { keyFor } from '../../support/requests.ts';
import { drawHalf, rounds, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

// Several workers on one port, with real clocks. Windows are long, so that nothing depends on speed.

const METRICS_TOKEN = 'scraper.7Rk2mQ9bTzA~';

type Crew = RunningServer & {
  deps: ReturnType<typeof testDeps>;
  log: LogLine[];
  /** The latest worker with each number. */
  workers: Map<number, Worker>;
};

/** Starts a server with workers; the test has to stop it. */
async function startCrew(deps = testDeps({ variables: { WORKERS: '3', METRICS_TOKEN } })): Promise<Crew> {
  const log: LogLine[] = [];
  const workers = new Map<number, Worker>();
  const server = await startServer(deps, {
    port: 0,
    drainMs: 50,
    log: {
      write: (lines) =>
        void log.push(
          ...lines
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line)),
        ),
      drain: async () => {},
    },
    onWorker: (worker, number) => void workers.set(number, worker),
  });
  return { ...server, deps, log, workers };
}

/** The same with this number of workers. */
function withWorkers(deps: Crew['deps'], workers: number): Crew['deps'] {
  return { ...deps, config: { ...deps.config, workers } };
}

// The server of several tests; its database stays open until the file is done.
const three = testDeps({ variables: { WORKERS: '3', METRICS_TOKEN, TRUSTED_PROXIES: '127.0.0.1' } });

/** Sends a request on its own connection, so that the system selects the worker. */
async function ask(server: { url: string }, path: string, secret: string): Promise<Response> {
  return get(server, path, secret, { headers: { Connection: 'close' } });
}

/** The prefix of a request id identifies the worker. */
const prefixOf = (answer: Response) => (answer.headers.get('x-request-id') ?? '').slice(0, 12);

describe('three workers', () => {
  let server: Crew;
  beforeAll(async () => {
    server = await startCrew(three);
    insertProfile(server.deps.db, { id: 7 });
  });
  afterAll(() => server.stop());

  test('Retry-After is enough, whichever worker sends it and whichever answers next', async () => {
    const { secret } = await keyFor(server.deps, ['30/1s']);
    const burst = (count: number) =>
      Promise.all(Array.from({ length: count }, () => ask(server, '/api/lookup/uid/7', secret)));
    for (let turn = 0; turn < 2; turn++) {
      let wait: string | null = null;
      while (wait === null)
        wait = (await burst(31)).find(({ status }) => status === 429)?.headers.get('retry-after') ?? null;
      await Bun.sleep(Number(wait) * 1_000);
      expect((await burst(30)).map(({ status }) => status)).toEqual(Array(30).fill(200));
    }
  });

  test('a dead worker is logged, counted and replaced; limits stay exact, and the port always answers', async () => {
    const { secret } = await keyFor(server.deps, ['400/1h']);
    const statuses: number[] = [];
    let isDone = false;
    const client = async () => {
      while (!isDone) {
        // The connections of the dying worker are lost; their requests may have been counted.
        const answer = await ask(server, '/api/lookup/uid/7', secret).catch(() => null);
        statuses.push(answer?.status ?? 0);
        await Bun.sleep(2);
      }
    };
    const clients = [client(), client(), client(), client()];
    const replaced = new Map(server.workers);
    // Only the main thread sends messages to workers, so an invalid order is an uncaught error.
    const kill = [
      () => server.workers.get(1)?.terminate(),
      () => server.workers.get(2)?.postMessage({ kind: 'order', id: 0, order: null }),
    ];
    for (const [index, die] of kill.entries()) {
      const number = index + 1;
      die();
      while (!server.log.some(({ message }) => message === `Worker ${number} is serving again.`)) await Bun.sleep(5);
    }
    while (statuses.filter((status) => status === 429).length < 50) await Bun.sleep(5);
    isDone = true;
    await Promise.all(clients);
    const count = (status: number) => statuses.filter((one) => one === status).length;
    expect(count(200)).toBeLessThanOrEqual(400);
    expect(count(200)).toBeGreaterThanOrEqual(400 - count(0));
    expect(statuses.length).toBe(count(200) + count(429) + count(0));
    expect(server.workers.get(1)).not.toBe(replaced.get(1));
    expect(server.workers.get(3)).toBe(replaced.get(3));
    expect(server.log.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ message: 'Worker 1 died and is replaced.' }),
      expect.objectContaining({ message: 'Worker 2 died and is replaced.', cause: expect.stringContaining('null') }),
    ]);
    const text = await (await get(server, '/metrics', METRICS_TOKEN)).text();
    expect(text).toContain('\nprofile_lookup_worker_restarts_total 2\n');
  });

  test('/metrics of any worker has the sums of all workers, without delay', async () => {
    const { secret } = await keyFor(server.deps, ['1000/1h']);
    for (let turn = 1; turn <= 2; turn++) {
      const answers = await Promise.all(
        Array.from({ length: 25 }, () => ask(server, '/api/lookup/username/user7', secret)),
      );
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      const [one, other] = await Promise.all([
        ask(server, '/metrics', METRICS_TOKEN),
        ask(server, '/metrics', METRICS_TOKEN),
      ]);
      for (const answer of [one, other]) {
        expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
        const text = await answer.text();
        const route = 'route="/api/lookup/username/:username"';
        expect(text).toContain(`profile_lookup_http_requests_total{${route},status="200"} ${25 * turn}\n`);
        expect(text).toContain(`profile_lookup_http_request_duration_seconds_count{${route}} ${25 * turn}\n`);
      }
    }
  });

  test('every worker applies a revocation within 10 ms of its commit, and all share the count of failed logins', async () => {
    const { secret, identifier } = await keyFor(server.deps, ['100000/1d']);
    const seen = new Set<string>();
    while (seen.size < 3) seen.add(prefixOf(await ask(server, '/api/key', secret)));
    await revokeKey(server.deps, { identifier, reason: 'Leaked.', by: onBox('admin') });
    // A request that begins more than 10 ms after the commit is refused.
    await Bun.sleep(10);
    const from = (address: string) => {
      const headers = { Connection: 'close', 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' };
      return get(server, '/api/key', secret, { headers });
    };
    const answers = await Promise.all(Array.from({ length: 50 }, () => from('198.51.100.1')));
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(401), count(429)]).toEqual([30, 20]);
    expect(new Set(answers.map(prefixOf)).size).toBe(3);
    expect((await from('198.51.100.2')).status).toBe(401);
  });

  test('every worker applies a suspension and a resumption within 10 ms of the commit', async () => {
    const { secret, identifier } = await keyFor(server.deps, ['100000/1d']);
    let sent = 0;
    // Each request has a new IP address, which has no failed logins.
    const from = () => {
      const headers = {
        Connection: 'close',
        'X-Forwarded-For': `192.0.2.${++sent % 250}`,
        'X-Forwarded-Proto': 'https',
      };
      return get(server, '/api/key', secret, { headers });
    };
    /** The statuses of a burst of requests to all workers, sent 10 ms after a commit. */
    const statuses = async () => {
      await Bun.sleep(10);
      const answers = await Promise.all(Array.from({ length: 20 }, from));
      while (new Set(answers.map(prefixOf)).size < 3) answers.push(await from());
      return [...new Set(answers.map(({ status }) => status))];
    };
    expect(await statuses()).toEqual([200]);
    for (let turn = 1; turn <= rounds(10); turn++) {
      moveByAdmin(server.deps, identifier, 'suspend');
      expect([turn, await statuses()]).toEqual([turn, [401]]);
      moveByAdmin(server.deps, identifier, 'resume');
      expect([turn, await statuses()]).toEqual([turn, [200]]);
    }
  });

  test('a failed start because of a port in use or a second server on the database is reported as with one thread, and leaves nothing behind', async () => {
    const other = testDeps({ variables: { WORKERS: '2' } });
    const taken = await startServer(other, { port: server.port }).catch((error) => error);
    expect([taken.code, taken.message]).toEqual(['refused', expect.stringContaining('in use')]);
    const twice = await startServer(server.deps, { port: 0 }).catch((error) => error);
    expect([twice.code, twice.message]).toEqual(['refused', expect.stringContaining('is running on')]);
    // The next servers on this database start, too: see the stop under load.
    const again = await startCrew(withWorkers(other, 1));
    expect((await get(again, '/readyz')).status).toBe(200);
    await again.stop();
  });

  test('requests with one key on many connections: every worker answers, together they admit exactly the quota, and a stop loses no count', async () => {
    const { secret, identifier } = await keyFor(server.deps, ['200/1h', '1000/1d']);
    const answers = await Promise.all(Array.from({ length: 300 }, () => ask(server, '/api/lookup/uid/7', secret)));
    const byStatus = Map.groupBy(answers, ({ status }) => status);
    expect([byStatus.get(200)?.length, byStatus.get(429)?.length]).toEqual([200, 100]);
    expect(new Set(answers.map(prefixOf)).size).toBe(3);
    // Each admitted request saw a different level.
    const levels = (byStatus.get(200) ?? []).map(
      (answer) => /r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1],
    );
    expect(new Set(levels).size).toBe(200);
    expect((await ask(server, '/api/key', secret)).headers.get('ratelimit')).toMatch(
      /^"1h";r=0;t=\d+, "1d";r=800;t=\d+$/,
    );
    await server.stop();
    expect(keyUsage(server.deps, identifier, 2).days.reduce((sum, { ok, limited }) => sum + ok + limited, 0)).toBe(301);
    expect(server.log.filter((line) => line.key === identifier).length).toBe(301);
    expect(server.log.at(-1)?.message).toBe('Stopped.');
  });
});

test('a stop under load finishes in-flight requests, and limits stay exact on the next server, with any number of workers', async () => {
  // Starts on its database failed before.
  const deps = three;
  insertProfile(deps.db, { id: 8 });
  const { secret, identifier } = await keyFor(deps, ['100000/1d', '90000/31d']);
  let admitted = 0;
  const servers = drawHalf([2, 1, 3], seededRandom('workers of the next server'));
  for (const workers of servers) {
    const server = await startCrew(withWorkers(deps, workers));
    const levels = (await ask(server, '/api/key', secret)).headers.get('ratelimit') ?? '';
    const left = [...levels.matchAll(/r=(\d+)/g)].map(([, remaining]) => Number(remaining));
    expect(left).toEqual([100_000 - admitted, 90_000 - admitted]);
    const before = admitted;
    let isDone = false;
    const client = async () => {
      while (!isDone) {
        const answer = await ask(server, '/api/lookup/uid/8', secret).catch(() => null);
        if (answer === null) return;
        if (answer.status === 200) admitted++;
        else expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
        await Bun.sleep(2);
      }
    };
    const clients = [client(), client(), client()];
    while (admitted - before < 100) await Bun.sleep(1);
    await server.stop();
    isDone = true;
    await Promise.all(clients);
    expect(await fetch(`${server.url}/healthz`).catch(() => null)).toBeNull();
    const requests = server.log.filter(({ route, status }) => route === '/api/lookup/uid/:uid' && status === 200);
    expect(requests.length).toBe(admitted - before);
  }
  expect(keyUsage(deps, identifier, 2).days.reduce((sum, { ok }) => sum + ok, 0)).toBe(admitted + servers.length);
}, 20_000);

test('a failed start of every worker ends the server with a sentence', async () => {
  const server = await startCrew(testDeps({ variables: { WORKERS: '2' } }));
  // Every worker that is started from now on ends at once.
  const end = () => {
    for (const worker of server.workers.values()) worker.terminate();
  };
  const timer = setInterval(end, 1);
  expect(await server.failed).toMatchObject({ code: 'refused', message: expect.stringContaining('Workers die') });
  clearInterval(timer);
  await server.stop();
  expect(server.log.at(-1)?.message).toBe('Stopped.');
}, 20_000);
