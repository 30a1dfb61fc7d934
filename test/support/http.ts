import { afterAll } from 'bun:test';
import type { RunningServer, ServerOptions } from '../../server/main.ts';
import { startServer } from '../../server/main.ts';
import type { Deps } from '../../shared/deps.ts';
import { checkAnswer } from './document.ts';
import { noteOutput } from './secret-search.ts';
import { testClock, testDeps } from './world.ts';

/** A real server on a port that the system assigned, with its dependencies. */
export type TestServer = RunningServer & {
  deps: Deps & { folder: string; clock: ReturnType<typeof testClock> };
  /** Everything logged so far. */
  log: Record<string, unknown>[];
};

/** Starts a server on a new database, with a clock that stands still. It is stopped when the test file is done. */
export async function startTestServer(changes: Parameters<typeof testDeps>[0] = {}): Promise<TestServer> {
  const clock = testClock();
  return serverOn({ ...testDeps({ clock, ...changes }), clock });
}

/** Starts a server on these dependencies. It drains only briefly before it stops, for which most tests need not wait. */
export async function serverOn(deps: TestServer['deps'], options: ServerOptions = {}): Promise<TestServer> {
  const log: TestServer['log'] = [];
  const server = await startServer(deps, {
    port: 0,
    drainMs: 50,
    ...options,
    log: {
      // Workers send several lines at once.
      write: (lines) => {
        for (const line of lines.trimEnd().split('\n')) log.push(JSON.parse(line));
      },
      drain: async () => {},
    },
  });
  afterAll(async () => {
    await server.stop();
    noteOutput(JSON.stringify(log));
  });
  return { ...server, deps, log };
}

/** Requests a path from the server, with a secret or token if one is given. Throws if the response is not as documented. */
export async function get(server: { url: string }, path: string, secret?: string | null, init: RequestInit = {}) {
  const headers = new Headers(init.headers);
  if (typeof secret === 'string') headers.set('Authorization', `Bearer ${secret}`);
  const response = await fetch(server.url + path, { ...init, headers, redirect: 'manual' });
  const body = await response.clone().text();
  checkAnswer({ method: init.method ?? 'GET', target: path, status: response.status, headers: response.headers, body });
  return response;
}
