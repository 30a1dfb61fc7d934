import { expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { get } from '../support/http.ts';
import { peakBytesSoFar } from '../support/memory.ts';
import { insertProfile } from '../support/profiles.ts';
import { keyFor } from '../support/requests.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { testDeps } from '../support/world.ts';

// A server process whose client asks for much and reads nothing of it. The profiles are as large as imports let them be
// before MAX_PROFILE_KIB was there.

const PROFILES = 100;
const SILENT_CLIENTS = 30;
const MAX_BYTES = 250 * 1024 * 1024;
/** While each of the first big answers takes a hundred steps, so many other requests one after another at least. */
const OTHERS = 20;

const BOARD = `/api/leaderboard?limit=${PROFILES}`;
const BATCH = `/api/lookup?${Array.from({ length: PROFILES }, (_, index) => `uid=${index + 1}`).join('&')}`;

for (const workers of ['1', '2']) {
  test(`with ${workers} workers, big answers that nobody reads take little memory, and everybody else is served`, async () => {
    const deps = testDeps();
    const { db, config } = deps;
    for (let id = 1; id <= PROFILES; id++) {
      const customize = JSON.stringify({ text: `${id} é`.padEnd(1_040_000, `${id} text `) });
      insertProfile(db, { id, viewsCount: 10_000 - id, customize });
    }
    insertProfile(db, { id: 1_000 });
    const silent = await keyFor(deps, ['1000000/1m']);
    const other = await keyFor(deps, ['1000000/1m']);
    const server = await startServerProcess({ DATABASE_PATH: config.databasePath, WORKERS: workers });

    const sockets = Array.from({ length: SILENT_CLIENTS }, (_, index) =>
      askSilently(server, index % 2 === 0 ? BOARD : BATCH, silent.secret),
    );
    let others = 0;
    for (; bigAnswers(server) < SILENT_CLIENTS; others++) expect((await get(server, '/healthz')).status).toBe(200);
    const refused = await get(server, BOARD, silent.secret);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    const peak = peakBytesSoFar(server.pid);
    expect((await get(server, '/api/lookup/uid/1', silent.secret)).status).toBe(200);
    expect((await get(server, '/api/leaderboard?offset=100', silent.secret)).status).toBe(200);
    expect((await get(server, '/api/lookup/uid/1', other.secret)).status).toBe(200);
    expect((await get(server, '/api/leaderboard?limit=2', other.secret)).status).toBe(200);
    expect(others).toBeGreaterThan(OTHERS);
    expect(peak).toBeLessThan(MAX_BYTES);

    for (const socket of sockets) socket.destroy();
    await waitForRoom(server, silent.secret);
    expect(server.printed()).not.toMatch(/"level":"(warn|error)"/);
  }, 120_000);
}

/** Asks for this, and leaves the answer where it is. */
function askSilently(server: ServerProcess, path: string, secret: string): Socket {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
  return socket;
}

/** How many lookups of many and pages of the board the server has answered or refused. */
function bigAnswers(server: ServerProcess): number {
  return server.printed().match(/"route":"\/api\/(lookup|leaderboard)"/g)?.length ?? 0;
}

/** Waits until a big answer is served: the system tells the server in its own time that its clients are gone. */
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
