import { expect, test } from 'bun:test';
import { connect, type TLSSocket } from 'node:tls';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { TEST_CA, testCertificate } from '../../support/network/certificates.ts';
import { drawHalf, rounds, seededRandom } from '../../support/rounds.ts';
import { tempFolder } from '../../support/world.ts';

// Clients that keep their connections while the certificate of a real server process is reloaded repeatedly.

const RELOADS = rounds(5);
const STEADY_CLIENTS = 60;
const HURRIED_CLIENTS = 3;

/** A steady client's pause between a response and its next request. */
const LONGEST_PAUSE_MS = 600;

/** The pause of the other clients is so short that some request is nearly always in flight. */
const SHORT_PAUSE_MS = 3;

/** Connections that were idle for longer may lose a request: the old listener ends after a second. */
const PROMISED_MS = 950;

const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
const WHOLE_ANSWER = /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n\{"status":"ok"\}$/;

const CLOSING = /\r\nConnection: close\r\n/i;

type Counts = { answered: number; closing: number; lost: string[]; isDone: boolean };

/** A connection with a completed TLS handshake. A reset before that lost no request, and is retried. */
async function open(port: number): Promise<TLSSocket> {
  for (let tries = 0; tries < 5; tries++) {
    const { promise, resolve } = Promise.withResolvers<TLSSocket | null>();
    const socket = connect({ host: '127.0.0.1', port, ca: TEST_CA, servername: 'localhost' });
    socket.setNoDelay(true);
    socket.once('secureConnect', () => resolve(socket)).once('error', () => resolve(null));
    const opened = await promise;
    if (opened !== null) return opened;
  }
  throw new Error('The server does not accept connections.');
}

/** Resolves when the connection is closed by either side. */
function closing(socket: TLSSocket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on('error', () => undefined).once('close', () => resolve());
  return promise;
}

/** The response to a request, or the part of it that arrived before the connection was `closed`. */
async function ask(socket: TLSSocket, closed: Promise<void>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = '';
  const onData = (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (WHOLE_ANSWER.test(text)) resolve();
  };
  socket.on('data', onData).write(REQUEST);
  await Promise.race([promise, closed]);
  socket.off('data', onData);
  return text;
}

/** Sends requests on one connection until it is closed, and then on the next. */
async function keepAsking(port: number, name: string, longestPauseMs: number, counts: Counts): Promise<void> {
  const random = seededRandom(name);
  while (!counts.isDone) {
    const socket = await open(port);
    const closed = closing(socket);
    for (let isOpen = true; isOpen && !counts.isDone; ) {
      const pausedAtMs = performance.now();
      await Bun.sleep(random() * longestPauseMs);
      const silentMs = performance.now() - pausedAtMs;
      const answer = await ask(socket, closed);
      const isAnswered = WHOLE_ANSWER.test(answer);
      if (isAnswered) counts.answered++;
      else if (silentMs < PROMISED_MS) counts.lost.push(answer);
      isOpen = isAnswered && !CLOSING.test(answer);
      if (isAnswered && !isOpen) {
        counts.closing++;
        // The server closes the connection, as it announced.
        await closed;
      }
    }
    socket.destroy();
  }
}

for (const WORKERS of drawHalf(['1', '2'], seededRandom('workers that reload'))) {
  test(`WORKERS=${WORKERS}: connections that send at least once a second lose no request to ${RELOADS} reloads`, async () => {
    const { certFile, keyFile } = testCertificate();
    const variables = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, LOG_LEVEL: 'info', WORKERS };
    const server = await startServerProcess({ ...variables, DATABASE_PATH: `${tempFolder()}/p.db` });
    const counts: Counts = { answered: 0, closing: 0, lost: [], isDone: false };
    const clients = [
      ...Array.from({ length: STEADY_CLIENTS }, (_, at) =>
        keepAsking(server.port, `steady client ${at}`, LONGEST_PAUSE_MS, counts),
      ),
      ...Array.from({ length: HURRIED_CLIENTS }, (_, at) =>
        keepAsking(server.port, `hurried client ${at}`, SHORT_PAUSE_MS, counts),
      ),
    ];
    for (let reload = 1; reload <= RELOADS; reload++) {
      const before = counts.answered;
      while (counts.answered < before + 2 * STEADY_CLIENTS) await Bun.sleep(10);
      server.signal('SIGHUP');
      await server.see(new RegExp(`(?:The certificate was reloaded[\\s\\S]*){${reload}}`));
    }
    counts.isDone = true;
    await Promise.all(clients);
    expect(counts.lost).toEqual([]);
    // Nearly all responses told the client to move to the new listener.
    expect(counts.closing).toBeGreaterThan((STEADY_CLIENTS * RELOADS) / 2);
    const kept = await open(server.port);
    for (let turn = 0; turn < 2; turn++) expect(await ask(kept, closing(kept))).not.toMatch(CLOSING);
    kept.destroy();
    expect(await server.end()).toBe(0);
  }, 60_000);
}
