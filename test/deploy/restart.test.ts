import { describe, expect, test } from 'bun:test';
import { randomInt } from 'node:crypto';
import { parseItems } from '../support/document.ts';
import { startServerProcess } from '../support/machine.ts';
import { HAS_CADDY, type ReverseProxy, startCaddy, through } from '../support/network.ts';
import { keyFor, prepare } from '../support/requests.ts';
import { rounds, seededRandom } from '../support/rounds.ts';
import { testDeps } from '../support/world.ts';

// A real server process that is restarted behind Caddy with the project's configuration, while clients send requests.

const RESTARTS = rounds(1);
const CLIENTS = 8;

/** A client's longest pause between two requests; without pauses, clients would use the whole processor. */
const MAX_PAUSE_MS = 60;

const QUOTA = 1_000_000;

/** A loopback address on which no other test listens, so that the port stays free while the server is down. */
function ownAddress(): string {
  // From the system's randomness, because another run with the same seed may be in progress.
  const part = () => randomInt(1, 255);
  return `127.${part()}.${part()}.${part()}`;
}

describe.skipIf(!HAS_CADDY)('caddy', () => {
  test(`${RESTARTS} restarts refuse no GET or HEAD, and each response counts once towards the quota`, async () => {
    const HOST = ownAddress();
    const deps = testDeps();
    await prepare(deps);
    const { secret } = await keyFor(deps, [`${QUOTA}/1d`]);
    const variables = {
      DATABASE_PATH: deps.config.databasePath,
      TRUSTED_PROXIES: '127.0.0.1',
      PUBLIC_URL: 'https://localhost',
      LOG_LEVEL: 'info',
      HOST,
    };
    let server = await startServerProcess(variables);
    const proxy = await startCaddy(server.port, { [`127.0.0.1:${server.port}`]: `${HOST}:${server.port}` });
    const statuses = new Map<string, number>();
    let isDone = false;
    const clients = Array.from({ length: CLIENTS }, async (_, number) => {
      const random = seededRandom(`pauses of client ${number}`);
      const method = number % 4 === 0 ? 'HEAD' : 'GET';
      while (!isDone) {
        const status = await ask(proxy, method, '/api/lookup/uid/7', secret);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await Bun.sleep(random() * MAX_PAUSE_MS);
      }
    });
    for (let restart = 0; restart < RESTARTS; restart++) {
      const before = statuses.get('200') ?? 0;
      while ((statuses.get('200') ?? 0) < before + 2 * CLIENTS) await Bun.sleep(10);
      expect(await server.end('SIGTERM')).toBe(0);
      server = await startServerProcess({ ...variables, PORT: String(server.port) });
    }
    isDone = true;
    await Promise.all(clients);
    const answered = statuses.get('200') ?? 0;
    expect([...statuses]).toEqual([['200', answered]]);
    const { headers } = await through(proxy, '/api/key', { Authorization: `Bearer ${secret}` });
    const [remaining] = parseItems(String(headers.ratelimit)).map(({ parameters }) => parameters.get('r'));
    expect(remaining).toBe(QUOTA - answered);
    expect(await server.end('SIGTERM')).toBe(0);
  }, 120_000);
});

/** The status, or the error instead. */
async function ask(proxy: ReverseProxy, method: 'GET' | 'HEAD', path: string, secret: string): Promise<string> {
  try {
    const { status } = await through(proxy, path, { Authorization: `Bearer ${secret}` }, 'https', method);
    return String(status);
  } catch (error) {
    return String(error);
  }
}
