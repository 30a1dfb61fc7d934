import { expect } from 'bun:test';
import { get } from '../http.ts';

/** A request that starts this long after a commit sees its changes, in milliseconds. */
const FRESH_MS = 10;

/**
 * Expects that, from 10 ms after now on, each of this number of workers answers this path with a body that has these members.
 * Each request has its own connection, so that the system chooses the worker.
 */
export async function expectEachWorkerSays(
  server: { url: string },
  path: string,
  secret: string,
  body: object,
  workers = 2,
): Promise<void> {
  await Bun.sleep(FRESH_MS);
  const seen = new Set<string>();
  while (seen.size < workers) {
    const answer = await get(server, path, secret, { headers: { Connection: 'close' } });
    expect(await answer.json()).toMatchObject(body);
    // Each has a prefix of its own for the ids of requests.
    seen.add((answer.headers.get('x-request-id') ?? '').slice(0, 12));
  }
}
