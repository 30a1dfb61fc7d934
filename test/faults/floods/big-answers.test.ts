import { expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { SEND_BUFFER_BYTES } from '../../../server/http/send-buffer-limit.ts';
import { get } from '../../support/http.ts';
import { peakBytesSoFar } from '../../support/machine/memory.ts';
import { type ServerProcess, startServerProcess } from '../../support/machine/server-process.ts';
import { insertProfile } from '../../support/profiles.ts';
import { keyFor } from '../../support/requests.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

// Clients that request large responses from a server process and never read them. Linux buffers up to 4 MB of an
// unread response, so the response here is a page with one profile larger than any import allows.

const PROFILE_BYTES = 5_000_000;
const KEYS = 16;
const CLIENTS_PER_KEY = 3;
const MAX_BYTES = 250 * 1024 * 1024;

const BOARD = '/api/leaderboard?limit=100';

for (const workers of drawHalf(['1', '2'], seededRandom('workers with unread responses'))) {
  test(`with ${workers} workers, large unread responses take little memory, and other requests are still served`, async () => {
    const deps = testDeps();
    const { db, config } = deps;
    insertProfile(db, {
      id: 1,
      viewsCount: 10_000,
      customize: JSON.stringify({ text: 'text '.padEnd(PROFILE_BYTES, 'text ') }),
    });
    insertProfile(db, { id: 1_000 });
    const silent = await Promise.all(Array.from({ length: KEYS }, () => keyFor(deps, ['1000000/1m'])));
    const [first, last] = [silent[0], silent.at(-1)] as [(typeof silent)[0], (typeof silent)[0]];
    const server = await startServerProcess({ DATABASE_PATH: config.databasePath, WORKERS: workers });

    const sockets: Socket[] = [];
    for (const { secret } of silent) {
      for (let client = 0; client < CLIENTS_PER_KEY; client++) sockets.push(askSilently(server, BOARD, secret));
    }
    while (pages(server) < sockets.length) expect((await get(server, '/healthz')).status).toBe(200);
    // One response for each key, until the buffers are too full for another key's first.
    const admitted = Math.floor(SEND_BUFFER_BYTES.all / PROFILE_BYTES);
    expect([admitted < KEYS, pages(server, 200)]).toEqual([true, admitted]);
    for (const { secret } of [first, last]) {
      const refused = await get(server, BOARD, secret);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
      expect((await get(server, '/api/lookup/uid/1', secret)).status).toBe(200);
      expect((await get(server, '/api/leaderboard?offset=100', secret)).status).toBe(200);
    }
    expect(peakBytesSoFar(server.pid)).toBeLessThan(MAX_BYTES);

    for (const socket of sockets) socket.destroy();
    await waitForRoom(server, first.secret);
    expect(server.printed()).not.toMatch(/"level":"(warn|error)"/);
  }, 120_000);
}

/** Sends a request and never reads the response. */
function askSilently(server: ServerProcess, path: string, secret: string): Socket {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
  return socket;
}

/** How many pages of the leaderboard the server has answered: with this status, or in all. */
function pages(server: ServerProcess, status = 0): number {
  const lines = server.printed().matchAll(/"route":"\/api\/leaderboard","status":(\d+)/g);
  return [...lines].filter(([, answered]) => status === 0 || Number(answered) === status).length;
}

/** Waits until a large response is served: the system notifies the server of closed connections with a delay. */
async function waitForRoom(server: ServerProcess, secret: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const { status, body } = await fetch(server.url + BOARD, { headers: { Authorization: `Bearer ${secret}` } });
    await body?.cancel();
    if (status === 200) return;
    if (performance.now() > deadline) throw new Error(`still ${status}`);
    await Bun.sleep(10);
  }
}
