import { afterAll } from 'bun:test';
import { type ServerOptions, startServer } from '../../server/main.ts';
import type { Deps } from '../../shared/deps.ts';
import { checkAnswer } from './document.ts';
import { noteOutput } from './secret-search.ts';
import { type TestClock, testClock, testDeps } from './world.ts';

/** Starts a real server on a new database and any port, with a clock that stands still; stopped when the test file is done. */
export function startTestServer(changes: Parameters<typeof testDeps>[0] = {}) {
  const clock = testClock();
  return serverOn({ ...testDeps({ clock, ...changes }), clock });
}

/** The same on these dependencies. It drains only briefly before it stops, for which most tests need not wait. */
export async function serverOn(deps: Deps & { folder: string; clock: TestClock }, options: ServerOptions = {}) {
  const log: Record<string, unknown>[] = [];
  const server = await startServer(deps, {
    port: 0,
    drainMs: 50,
    ...options,
    log: {
      // Several lines may come at once.
      write: (lines) => void log.push(...(Bun.JSONL.parse(lines) as typeof log)),
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
