import { afterAll, describe, expect, test } from 'bun:test';
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { takeApart } from '../server/raw.ts';
import { PROJECT } from '../support/cli.ts';
import { startTestServer } from '../support/http.ts';
import { keyFor, prepare } from '../support/keys.ts';
import { startServerProcess } from '../support/machine.ts';
import { freePort, TEST_CA, testCertificate } from '../support/network.ts';
import { insertProfile } from '../support/profiles.ts';
import { rounds, seededRandom } from '../support/rounds.ts';
import { tempFolder, testDeps } from '../support/world.ts';

// The real server behind a real Caddy with `deploy/Caddyfile`; skipped and listed if Caddy is not installed.

/** Caddy with the project's configuration. */
type ReverseProxy = { httpsPort: number; httpPort: number; printed: () => string };

/** An IP address of this machine that differs from the proxy's, so that the log distinguishes them. */
const CLIENT_ADDRESS = '127.0.0.9';

/** Whether Caddy is installed. */
const HAS_CADDY = Bun.which('caddy') !== null;

/** The text of `deploy/Caddyfile` with parts replaced, each of which must exist. */
function caddyfile(replacements: Record<string, string>): string {
  let text = readFileSync(join(PROJECT, 'deploy/Caddyfile'), 'utf8');
  for (const [part, other] of Object.entries(replacements)) {
    if (!text.includes(part)) throw new Error(`deploy/Caddyfile does not say: ${part}`);
    text = text.replaceAll(part, other);
  }
  return text;
}

/** Runs Caddy with `deploy/Caddyfile`, but with other ports and the test certificate. */
async function startCaddy(upstreamPort: number, more: Record<string, string> = {}): Promise<ReverseProxy> {
  const folder = tempFolder();
  const [httpsPort, httpPort] = [freePort(), freePort()];
  const { certFile, keyFile } = testCertificate();
  const text = caddyfile({
    '{\n\t# API keys': `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttp_port ${httpPort}\n\thttps_port ${httpsPort}\n\t# API keys`,
    '\napi.example.org {': `\nlocalhost {\n\ttls ${certFile} ${keyFile}`,
    'http://api.example.org {': 'http://localhost {',
    '127.0.0.1:3000': `127.0.0.1:${upstreamPort}`,
    ...more,
  });
  writeFileSync(join(folder, 'Caddyfile'), text);
  const child = Bun.spawn(['caddy', 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], {
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  afterAll(async () => {
    child.kill('SIGTERM');
    await child.exited;
  });
  let printed = '';
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) printed += decoder.decode(chunk, { stream: true });
  };
  void gather(child.stdout);
  void gather(child.stderr);
  const proxy = { httpsPort, httpPort, printed: () => printed };
  for (let tries = 0; ; tries++) {
    if ((await accepts(httpsPort)) && (await accepts(httpPort))) return proxy;
    if (child.exitCode !== null || tries > 500) throw new Error(`Caddy did not start: ${printed}`);
    await Bun.sleep(20);
  }
}

/** Whether a program listens on a port. Sends no request: the server behind the proxy may not run yet. */
async function accepts(port: number): Promise<boolean> {
  try {
    (await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })).end();
    return true;
  } catch {
    return false;
  }
}

/** A response that came through a proxy. */
type Forwarded = { status: number; headers: Record<string, unknown>; body: Buffer };

/** Sends a request to a proxy from {@link CLIENT_ADDRESS}, over verified HTTPS or plain HTTP; a form is sent by POST. */
function through(
  proxy: ReverseProxy,
  path: string,
  headers: Record<string, string> = {},
  scheme: 'https' | 'http' = 'https',
  sent: 'GET' | 'HEAD' | { form: Record<string, string> } = 'GET',
): Promise<Forwarded> {
  const body = typeof sent === 'string' ? '' : new URLSearchParams(sent.form).toString();
  const ofForm = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(body) };
  const { promise, resolve, reject } = Promise.withResolvers<Forwarded>();
  const options = {
    host: '127.0.0.1',
    port: scheme === 'https' ? proxy.httpsPort : proxy.httpPort,
    path,
    method: typeof sent === 'string' ? sent : 'POST',
    headers: { Host: 'localhost', ...(typeof sent !== 'string' && ofForm), ...headers },
    localAddress: CLIENT_ADDRESS,
    servername: 'localhost',
    ca: TEST_CA,
    agent: false as const,
  };
  const ask = scheme === 'https' ? requestHttps : requestHttp;
  ask(options, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('end', () =>
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
    );
  })
    .on('error', reject)
    .end(body);
  return promise;
}

const SPOOFED = { 'X-Forwarded-For': '203.0.113.5', 'X-Forwarded-Proto': 'http', Forwarded: 'for=203.0.113.5' };

const HEAD = 'HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';
const LONG = 'x'.repeat(1_800);
const MANY_HEADERS = Array.from({ length: 10 }, (_, at) => `X-${at}: ${LONG}\r\n`).join('');

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
        const status = await statusOf(proxy, method, '/api/lookup/uid/7', secret);
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
    expect(String(headers.ratelimit)).toContain(`;r=${QUOTA - answered};`);

    expect(await server.end('SIGTERM')).toBe(0);
  }, 120_000);

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

/** The status, or the error instead. */
async function statusOf(proxy: ReverseProxy, method: 'GET' | 'HEAD', path: string, secret: string): Promise<string> {
  try {
    const { status } = await through(proxy, path, { Authorization: `Bearer ${secret}` }, 'https', method);
    return String(status);
  } catch (error) {
    return String(error);
  }
}
