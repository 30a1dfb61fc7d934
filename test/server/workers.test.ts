import { describe, expect, test } from 'bun:test';
import { type RunningServer, startServer } from '../../server/main.ts';
import { revokeKey } from '../../shared/keys/lifecycle.ts';
import { keyUsage } from '../../shared/keys/usage-view.ts';
import { get, type LogLine } from '../support/http.ts';
import { insertProfile } from '../support/profiles.ts';
import { keyFor, prepare } from '../support/requests.ts';
import { testDeps } from '../support/world.ts';

// Several workers on one port, with real clocks: windows are long, so that nothing depends on speed.

const METRICS_TOKEN = 'scraper.7Rk2mQ9bTzA~';

type Crew = RunningServer & {
  deps: ReturnType<typeof testDeps>;
  log: LogLine[];
  /** The latest of each number. */
  workers: Map<number, Worker>;
};

const started: RunningServer[] = [];

/** A server with so many workers; it is stopped by the test. */
async function startCrew(deps = testDeps({ variables: { WORKERS: '3', METRICS_TOKEN } })): Promise<Crew> {
  const log: LogLine[] = [];
  const workers = new Map<number, Worker>();
  const server = await startServer(deps, {
    port: 0,
    log: {
      write: (lines) => void log.push(...lines.trimEnd().split('\n').map((line) => JSON.parse(line))),
      drain: async () => {},
    },
    onWorker: (worker, number) => void workers.set(number, worker),
  });
  started.push(server);
  return { ...server, deps, log, workers };
}

/** One answer on a connection of its own, so that the system chooses the worker. */
async function ask(server: { url: string }, path: string, secret: string): Promise<Response> {
  return get(server, path, secret, { headers: { Connection: 'close' } });
}

/** Which workers have answered: each has a prefix of its own for its request ids. */
const prefixOf = (answer: Response) => (answer.headers.get('x-request-id') ?? '').slice(0, 12);

test('one key asked for on many connections: every worker answers, and in all exactly the quota is admitted', async () => {
  const server = await startCrew();
  insertProfile(server.deps.db, { id: 7 });
  const { secret, identifier } = await keyFor(server.deps, ['200/1h', '1000/1d']);
  const answers = await Promise.all(Array.from({ length: 300 }, () => ask(server, '/api/lookup/uid/7', secret)));
  const byStatus = Map.groupBy(answers, ({ status }) => status);
  expect([byStatus.get(200)?.length, byStatus.get(429)?.length]).toEqual([200, 100]);
  expect(new Set(answers.map(prefixOf)).size).toBe(3);
  // Each admitted request saw a level of its own.
  const levels = (byStatus.get(200) ?? []).map((answer) => /r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);
  expect(new Set(levels).size).toBe(200);
  expect((await ask(server, '/api/key', secret)).headers.get('ratelimit')).toMatch(/^"1h";r=0;t=\d+, "1d";r=800;t=\d+$/);
  await server.stop();
  expect(keyUsage(server.deps, identifier, 2).days.reduce((sum, { ok, limited }) => sum + ok + limited, 0)).toBe(301);
  expect(server.log.filter((line) => line.route !== undefined).length).toBe(301);
  expect(server.log.at(-1)?.message).toBe('Stopped.');
});
