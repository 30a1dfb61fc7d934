import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { PROJECT } from '../support/cli.ts';
import { startTestServer, takeApart } from '../support/http.ts';
import { CLIENT_ADDRESS, HAS_CADDY, type ReverseProxy, startCaddy, TEST_CA, through } from '../support/network.ts';
import { insertProfile } from '../support/profiles.ts';
import { prepare } from '../support/requests.ts';
import { tempFolder } from '../support/world.ts';

// The real server behind a real Caddy with `deploy/Caddyfile`; skipped and listed if Caddy is not installed.

const SPOOFED = { 'X-Forwarded-For': '203.0.113.5', 'X-Forwarded-Proto': 'http', Forwarded: 'for=203.0.113.5' };

const HEAD = 'HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';
const LONG = 'x'.repeat(1_800);
const MANY_HEADERS = Array.from({ length: 10 }, (_, at) => `X-${at}: ${LONG}\r\n`).join('');

/** Requests refused by the runtime with an empty body. */
const REFUSED = {
  'a path that is far too long': { status: 431, text: `GET /api/${'x'.repeat(20_000)} ${HEAD}\r\n` },
  'headers that are too long together': { status: 431, text: `GET /api/key ${HEAD}${MANY_HEADERS}\r\n` },
  'a body of 2 GB': { status: 413, text: `POST /api/key ${HEAD}Content-Length: 2000000000\r\n\r\n` },
};

/** Sends these bytes to a proxy over TLS, and parses the response when the proxy closes the connection. */
async function sendRawly(port: number, text: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const tls = { host: '127.0.0.1', port, servername: 'localhost', ca: TEST_CA, ALPNProtocols: ['http/1.1'] };
  let received = '';
  const socket = connect(tls, () => socket.write(text));
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(received));
  const { status, headers, body } = takeApart(await promise);
  return { status, headers: Object.fromEntries(headers) as Record<string, string>, body };
}

/** A server that returns how requests reached it. */
function startEcho(): number {
  const echo = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url, headers }) =>
      Response.json({ target: url.replace(/^https?:\/\/[^/]*/, ''), headers: Object.fromEntries(headers) }),
  });
  afterAll(() => echo.stop(true));
  return echo.port ?? 0;
}

describe.skipIf(!HAS_CADDY)('caddy', async () => {
  if (!HAS_CADDY) return;
  const server = await startTestServer({
    variables: { TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://localhost' },
  });
  const secret = await prepare(server.deps);
  const proxy = await startCaddy(server.port);
  const echoProxy = await startCaddy(startEcho());

  test('a lookup works over HTTPS, and the log has the client’s own address, whatever it claims', async () => {
    for (let id = 100; id < 120; id++) insertProfile(server.deps.db, { id });
    const ask = (path: string, headers: Record<string, string> = {}) =>
      through(proxy, path, { Authorization: `Bearer ${secret}`, ...headers });
    for (const headers of [{}, SPOOFED]) {
      const found = await ask('/api/lookup/uid/7', headers);
      expect(found).toMatchObject({
        status: 200,
        headers: { 'strict-transport-security': 'max-age=63072000', 'cache-control': 'private, no-cache' },
      });
      expect(JSON.parse(found.body.toString())).toMatchObject({ id: 7, username: 'Ada' });
      expect(server.log.at(-1)).toMatchObject({ status: 200, address: CLIENT_ADDRESS });
    }
    // A longer response is compressed, and its ETag, sent back unchanged, gets no body.
    const plain = await ask('/api/leaderboard');
    const packed = await ask('/api/leaderboard', { 'Accept-Encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(new Uint8Array(packed.body)).toString()).toBe(plain.body.toString());
    const etag = String(packed.headers.etag);
    const again = await ask('/api/leaderboard', { 'Accept-Encoding': 'gzip', 'If-None-Match': etag });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  test('the server gets the client’s address, the scheme and an unchanged path', async () => {
    const target = '/api/lookup/authid/auth0%7Ca%2Fd%20a?x=%2F+';
    const seen = await seenBy(echoProxy, target, SPOOFED);
    expect(seen.target).toBe(target);
    expect(seen.headers).toMatchObject({
      host: 'localhost',
      'x-forwarded-for': CLIENT_ADDRESS,
      'x-forwarded-proto': 'https',
    });
  });

  test('the configured prefix is removed from paths, and the rest is unchanged', async () => {
    const proxy = await startCaddy(startEcho(), { '# uri strip_prefix': 'uri strip_prefix' });
    for (const rest of ['/api/lookup/authid/a%2Fb%7C', '/api/leaderboard?limit=1']) {
      expect((await seenBy(proxy, `/community${rest}`)).target).toBe(rest);
    }
  });

  test.each(Object.entries(REFUSED))('%s is refused with JSON', async (_, { status, text }) => {
    const answer = await sendRawly(proxy.httpsPort, text);
    expect(answer).toMatchObject({
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(answer.body)).toEqual({ error: expect.stringMatching(/^[A-Z].*\.$/) });
  });

  test('refusals by Profile Lookup arrive unchanged', async () => {
    const headers = { Authorization: `Bearer ${secret}` };
    for (const [path, status, code] of [
      ['/api/lookup/uid/x', 400, 'bad_parameter'],
      ['/api/nothing', 404, 'unknown_path'],
      [`/api/${'x'.repeat(8_200)}`, 414, 'uri_too_long'],
    ] as const) {
      const answer = await through(proxy, path, headers);
      expect(answer).toMatchObject({ status, headers: { 'x-error-code': code, 'cache-control': 'no-store' } });
    }
  });

  test('a form of 60 KB arrives, and one from another site is refused', async () => {
    const send = (length: number, site: string) =>
      through(proxy, '/developers/sign-in', { 'Sec-Fetch-Site': site }, 'https', {
        form: { name: 'x'.repeat(length), address: '', next: '' },
      });
    expect((await send(60_000, 'same-origin')).headers).toMatchObject({ 'x-error-code': 'refused_form' });
    expect((await send(1, 'same-site')).headers).toMatchObject({ 'x-error-code': 'cross_site' });
  });

  test('plain HTTP is refused, not redirected', async () => {
    const refused = await through(echoProxy, '/api/key', {}, 'http');
    expect(refused).toMatchObject({ status: 403, headers: { 'cache-control': 'no-store' } });
    expect(refused.headers['content-type']).toStartWith('application/json');
    expect(JSON.parse(refused.body.toString())).toEqual({ error: 'This API is served over HTTPS only.' });
  });

  test('while the server is down, programs get 503 as JSON, people a page, and the proxy’s log has no path', async () => {
    const gone = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') });
    const proxy = await startCaddy(gone.port ?? 0, { 'lb_try_duration 15s': 'lb_try_duration 200ms' });
    await gone.stop(true);
    const common = { 'retry-after': '5', 'cache-control': 'no-store', 'strict-transport-security': 'max-age=63072000' };
    const answer = await through(proxy, '/api/lookup/authid/very-private', { Authorization: 'Bearer very-secret' });
    expect(answer).toMatchObject({ status: 503, headers: { ...common, 'content-type': 'application/json' } });
    expect(JSON.parse(answer.body.toString())).toEqual({ error: expect.stringContaining('try again') });
    const form = { form: { name: 'ada' } };
    for (const [path, sent] of [
      ['/developers/keys/k7Qm2XaB?x=1', 'GET'],
      ['/community/developers/sign-in', form],
    ] as const) {
      const { status, headers, body } = await through(proxy, path, {}, 'https', sent);
      expect({ status, headers }).toMatchObject({
        status: 503,
        headers: {
          ...common,
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
          'x-content-type-options': 'nosniff',
        },
      });
      expect(body.toString()).toContain('check before you send it again');
    }
    expect((await through(proxy, '/developersx')).headers['content-type']).toStartWith('application/json');
    expect(proxy.printed()).not.toContain('very-');
  });

  test('the file is valid as it is, and formatted as Caddy does', () => {
    const folder = tempFolder();
    const env = { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const words = ['validate', '--adapter', 'caddyfile', '--config', join(PROJECT, 'deploy/Caddyfile')];
    const { exitCode, stderr } = Bun.spawnSync(['caddy', ...words], { env });
    expect([exitCode, /not formatted/.exec(stderr.toString())]).toEqual([0, null]);
  });
});

async function seenBy(
  proxy: ReverseProxy,
  target: string,
  headers: Record<string, string> = {},
): Promise<{ target: string; headers: Record<string, string> }> {
  const { body } = await through(proxy, target, headers);
  return JSON.parse(body.toString());
}
