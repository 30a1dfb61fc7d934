import { describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { DRAIN_MS, HANDSHAKE_MS } from '../../../server/listen.ts';
import { serve, startServer } from '../../../server/main.ts';
import type { Db } from '../../../shared/db/connect.ts';
import { get, serverOn, startTestServer } from '../../support/http.ts';
import { keyFor, prepare } from '../../support/keys.ts';
import { TEST_CA, testCertificate } from '../../support/network.ts';
import { insertProfile } from '../../support/profiles.ts';
import { eventually, testClock, testDeps } from '../../support/world.ts';
import { sendRaw, takeApart } from '../raw.ts';

/** A connection that does not read until it is resumed. */
function slowClient(port: number): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const socket = connect(port, '127.0.0.1', () => {
    socket.pause();
    resolve(socket);
  });
  return promise;
}

/** Everything that a connection receives until it is closed. */
function readAll(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => resolve(text));
  socket.resume();
  return promise;
}

/** Makes a response larger than the buffers of the sockets. No import allows such a large profile. */
const PADDING = 'x'.repeat(7_000_000);

function insertLargeProfile(db: Db): void {
  const id = insertProfile(db, { id: 100 });
  const change = db.$client.query(
    "UPDATE profiles SET profile = json_set(profile, '$.customize.padding', ?) WHERE id = ?",
  );
  change.run(PADDING, id);
}

describe('stopping', () => {
  test('an in-flight response is finished, new connections are refused, quotas are written', async () => {
    const deps = { ...testDeps(), clock: testClock() };
    const server = await serverOn(deps);
    await prepare(deps);
    insertLargeProfile(deps.db);
    const { secret } = await keyFor(deps, ['9/1h']);
    const socket = await slowClient(server.port);
    const request = `GET /api/lookup/uid/100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n\r\n`;
    socket.write(request);
    await eventually(() => server.log.some((line) => line.route === '/api/lookup/uid/:uid'));

    const stopped = server.stop();
    await eventually(async () => (await fetch(`${server.url}/healthz`).catch(() => null)) === null);
    // No further request on this connection: Bun 1.4.5 cuts off a response if another request arrives before it is sent.
    const text = await readAll(socket);
    await stopped;
    const { status, body } = takeApart(text);
    expect(status).toBe(200);
    expect(JSON.parse(body).customize.padding).toBe(PADDING);
    expect(server.log.at(-1)).toMatchObject({ level: 'info', message: 'Stopped.' });

    const again = await serverOn(deps);
    expect((await get(again, '/api/key', secret)).headers.get('ratelimit')).toBe('"1h";r=8;t=3600');
    await again.stop();
  });

  test('idle connections do not delay the stop, over TLS too', async () => {
    const { certFile, keyFile } = testCertificate();
    const deps = testDeps({ variables: { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } });
    const server = await serverOn({ ...deps, clock: testClock() });
    const idle = tlsConnect({ port: server.port, host: '127.0.0.1', ca: TEST_CA, servername: 'localhost' });
    await new Promise((resolve) => idle.once('secureConnect', resolve));
    idle.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await new Promise((resolve) => idle.once('data', resolve));
    const closed = new Promise<string>((resolve) => idle.once('close', () => resolve('closed')));
    const stopped = server.stop().then(() => 'stopped');
    // Less than the ten seconds for in-flight requests.
    const tooLate = new Promise<string>((resolve) => setTimeout(resolve, 8_000, 'too late').unref());
    expect(await Promise.race([stopped, tooLate])).toBe('stopped');
    expect(await Promise.race([closed, tooLate])).toBe('closed');
  });

  // Bun closes idle connections at once, even one with half a request.
  test('a connection with an incomplete request is closed', async () => {
    const server = await startTestServer();
    const socket = await slowClient(server.port);
    const text = readAll(socket);
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\n');
    await eventually(() => server.log.length >= 2);
    await server.stop();
    const answers = (await text).split(/(?=HTTP\/1\.1 )/);
    expect(answers.map((answer) => takeApart(answer).status)).toEqual([200]);
  });

  test('for a second, requests on old and new connections are answered as usual, with Connection: close', async () => {
    const deps = { ...testDeps(), clock: testClock() };
    const server = await serverOn(deps, { drainMs: DRAIN_MS });
    const secret = await prepare(deps);
    insertLargeProfile(deps.db);
    const [old, slow] = [await slowClient(server.port), await slowClient(server.port)];
    const requestOf = (path: string, line = '', method = 'GET') =>
      `${method} ${path} HTTP/1.1\r\nHost: a\r\n${line}Authorization: Bearer ${secret}\r\n\r\n`;
    old.write(requestOf('/healthz'));
    await eventually(() => server.log.length >= 2);

    const stopped = server.stop();
    old.write(requestOf('/api/lookup/uid/7'));
    slow.write(requestOf('/api/lookup/uid/100'));
    // sendRaw resolves when the server has closed the connection, which none of these requests asks for.
    const answers = await Promise.all([
      readAll(old).then((text) => text.slice(text.lastIndexOf('HTTP/1.1 '))),
      sendRaw(server, requestOf('/api/lookup/uid/7', '', 'HEAD')),
      sendRaw(server, requestOf('/api/lookup/uid/7', 'If-None-Match: *\r\n')),
      sendRaw(server, requestOf('/api/lookup/username/nobody')),
      sendRaw(server, requestOf('/api/key', '', 'POST')),
      sendRaw(server, requestOf('/metrics')),
    ]);
    const heads = answers.map(takeApart).map(({ status, headers }) => [status, headers.get('connection')]);
    expect(heads).toEqual([200, 200, 304, 404, 405, 404].map((status) => [status, 'close']));
    const { headers, body } = takeApart(await readAll(slow));
    expect([headers.get('connection'), JSON.parse(body).id]).toEqual(['close', 100]);
    await stopped;
    expect(await fetch(`${server.url}/healthz`).catch(() => 'refused')).toBe('refused');
  });

  test('over TLS, a connection at the end of that second is answered, although its handshake ends later', async () => {
    const { certFile, keyFile } = testCertificate();
    const deps = { ...testDeps({ variables: { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } }), clock: testClock() };
    const drainMs = 100;
    /** What connections at the end of that time are answered; null if the server has waited long enough for them. */
    const answersAtEnd = async () => {
      const server = await serverOn(deps, { drainMs });
      const opened = await Promise.all(Array.from({ length: 4 }, () => slowClient(server.port)));
      const beganAtMs = performance.now();
      const stopped = server.stop();
      await Bun.sleep(drainMs);
      const answers = opened.map(async (socket) => {
        const secure = tlsConnect({ socket, ca: TEST_CA, servername: 'localhost' }, () =>
          secure.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'),
        );
        const { status, headers } = takeApart(await readAll(secure));
        const isLate = status === 0 && performance.now() - beganAtMs >= drainMs + HANDSHAKE_MS;
        return isLate ? null : [status, headers.get('connection')];
      });
      await stopped;
      return Promise.all(answers);
    };
    let answers = await answersAtEnd();
    // On a busy machine a handshake may take longer than the server waits for it.
    for (let tries = 1; tries < 5 && answers.includes(null); tries++) answers = await answersAtEnd();
    expect(answers).toEqual(answers.map(() => [200, 'close']));
  }, 20_000);

  test('calling stop() again has no effect', async () => {
    const server = await startTestServer();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(server.log.filter((line) => line.message === 'Stopped.').length).toBe(1);
  });
});

describe('one server', () => {
  test('per port: the next one fails, says which port and what to set, and releases its database', async () => {
    const server = await startTestServer();
    const deps = { ...testDeps(), clock: testClock() };
    const error = await startServer(deps, { port: server.port }).catch((error) => error);
    expect(error.code).toBe('refused');
    expect(error.message).toContain(`Port ${server.port} on 127.0.0.1 is in use`);
    expect(error.message).toContain('PORT');
    await (await serverOn(deps)).stop();
  });

  test('that gets SIGTERM while it still loads its pages is stopped in order', async () => {
    const deps = testDeps({ variables: { PORT: '0' } });
    const write = (lines: string) => {
      if (lines.includes('Listening on')) process.emit('SIGTERM');
    };
    await serve(deps, { drainMs: 0, log: { write, drain: async () => {} } });
    await (await serverOn({ ...deps, clock: testClock() })).stop();
  });

  test('whose start can’t be announced is stopped, and releases its database', async () => {
    const deps = testDeps({ variables: { PORT: '0', LOG_LEVEL: 'silent' } });
    const unheard = serve(deps, {}, () => {
      throw new Error('nobody listens');
    });
    expect(await unheard.catch((error) => error.message)).toBe('nobody listens');
    await (await serverOn({ ...deps, clock: testClock() })).stop();
  });
});
