import { expect } from 'bun:test';
import { get } from '../http.ts';

/** A request that starts this long after a commit sees its changes, in milliseconds. */
const FRESH_MS = 10;

/**
 * Expects that, from 10 ms after now, each of this number of workers answers this path with a body with these
 * members. Each request has a new connection, so that the system selects a worker.
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
    // Each worker has its own prefix of request ids.
    seen.add((answer.headers.get('x-request-id') ?? '').slice(0, 12));
  }
}
