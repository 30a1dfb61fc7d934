import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import type { Signed } from '../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../shared/sign-ins/binding.ts';
import { PROJECT } from '../support/cli.ts';
import { startTestServer, takeApart } from '../support/http.ts';
import { request } from '../support/keys.ts';
import { TEST_CA } from '../support/network/certificates.ts';
import {
  CLIENT_ADDRESS,
  programPath,
  type ReverseProxy,
  SHORT_WAIT,
  startCaddy,
  startNginx,
  through,
} from '../support/network/proxy.ts';
import { personTokenFor } from '../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../support/portal/pages.ts';
import { insertProfile } from '../support/profiles.ts';
import { prepare } from '../support/requests.ts';
import { tempFolder } from '../support/world.ts';

// The two configurations of `deploy/`, run by the real programs; skipped and listed if these are not installed.

const SPOOFED = { 'X-Forwarded-For': '203.0.113.5', 'X-Forwarded-Proto': 'http', Forwarded: 'for=203.0.113.5' };

const PREFIX = {
  caddy: { '# uri strip_prefix': 'uri strip_prefix' },
  nginx: {
    '# map $request_uri': 'map $request_uri',
    '        proxy_pass http://profile_lookup;\n        # proxy_pass': '        proxy_pass',
  },
};

const HEAD = 'HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';
const LONG = 'x'.repeat(1_800);
const MANY_HEADERS = Array.from({ length: 10 }, (_, at) => `X-${at}: ${LONG}\r\n`).join('');

const OF_REFUSALS = {
  'content-type': expect.stringMatching(/^application\/json/),
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=63072000',
};

type Refused = Record<string, { status: number; text: string }>;

/** Requests refused by each proxy itself, or by the runtime behind it with an empty body. */
const REFUSED: { caddy: Refused; nginx: Refused } = {
  caddy: {
    'a path that is far too long': { status: 431, text: `GET /api/${'x'.repeat(20_000)} ${HEAD}\r\n` },
    'headers that are too long together': { status: 431, text: `GET /api/key ${HEAD}${MANY_HEADERS}\r\n` },
    'a body of 2 GB': { status: 413, text: `POST /api/key ${HEAD}Content-Length: 2000000000\r\n\r\n` },
  },
  nginx: {
    'no HTTP': { status: 400, text: 'GARBAGE\r\n\r\n' },
    'no host': { status: 400, text: 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n' },
    'two hosts': { status: 400, text: `GET / ${HEAD}Host: other\r\n\r\n` },
    'a path with a broken percent sign': { status: 400, text: `GET /api/lookup/username/%zz ${HEAD}\r\n` },
    'an invalid length': { status: 400, text: `POST /api/key ${HEAD}Content-Length: x\r\n\r\n` },
    'a broken chunk': { status: 400, text: `POST /developers/found ${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n` },
    'an unsupported method': { status: 405, text: `TRACE / ${HEAD}\r\n` },
    'a body of 2 MB': { status: 413, text: `POST /api/key ${HEAD}Content-Length: 2000000\r\n\r\n` },
    'profiles of 100 MB': { status: 413, text: `POST /manage/v1/profiles ${HEAD}Content-Length: 100000000\r\n\r\n` },
    'a path that is far too long': { status: 414, text: `GET /api/${'x'.repeat(20_000)} ${HEAD}\r\n` },
    'a header that is too long': { status: 431, text: `GET /api/key ${HEAD}X: ${'x'.repeat(20_000)}\r\n\r\n` },
    'headers that are too long together': { status: 431, text: `GET /api/key ${HEAD}${MANY_HEADERS}\r\n` },
    'an unsupported transfer encoding': {
      status: 501,
      text: `POST /api/key ${HEAD}Transfer-Encoding: other\r\n\r\n`,
    },
    'an unsupported version': { status: 505, text: `GET / ${HEAD.replace('1.1', '3.0')}\r\n` },
  },
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

/** The real server behind a proxy of this kind. */
async function startServing(start: typeof startCaddy) {
  const server = await startTestServer({
    variables: { TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://localhost' },
  });
  const secret = await prepare(server.deps);
  return { server, secret, proxy: await start(server.port) };
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

/** A server that returns the length of a request's body. */
function startCounter(): number {
  const counter = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async ({ body }) => {
      let bytes = 0;
      for await (const chunk of body ?? []) bytes += chunk.length;
      return new Response(String(bytes));
    },
  });
  afterAll(() => counter.stop(true));
  return counter.port ?? 0;
}

for (const [name, start] of [
  ['caddy', startCaddy],
  ['nginx', startNginx],
] as const) {
  const isAbsent = programPath(name) === null;
  const { server, secret, proxy } = isAbsent ? ({} as never) : await startServing(start);
  const echoProxy = isAbsent ? (undefined as never) : await start(startEcho());

  describe.skipIf(isAbsent)(name, () => {
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
      await expectConditional(ask);
      expect(await through(proxy, '/api/key')).toMatchObject({ status: 401, headers: { 'cache-control': 'no-store' } });
    });

    test('the ETag of a key that was compressed on the way is accepted as If-Match', async () => {
      const world = pageWorld({ TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://localhost' });
      const { access } = world;
      const proxy = await start((await serverOfPages(world)).port);
      insertProfile(access.db, { id: 7, email: 'ada@example.org' });
      const path = `/manage/v1/keys/${await request(access, { profile: 'user7' })}`;
      const Authorization = `Bearer ${personTokenFor(access, ownerToSign(access, 7) as Signed)}`;
      const shown = await through(proxy, path, { Authorization, 'Accept-Encoding': 'gzip' });
      expect(shown).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } });
      const headers = { Authorization, 'If-Match': String(shown.headers.etag), 'Content-Type': 'application/json' };
      expect((await through(proxy, `${path}/withdraw`, headers, 'https', { form: {} })).status).toBe(200);
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
      const proxy = await start(startEcho(), PREFIX[name]);
      for (const rest of ['/api/lookup/authid/a%2Fb%7C', '/api/leaderboard?limit=1']) {
        expect((await seenBy(proxy, `/community${rest}`)).target).toBe(rest);
      }
    });

    test.skipIf(Bun.which('curl') === null)('HTTP/2 works, without a warning about its configuration', async () => {
      const { httpsPort, printed } = echoProxy;
      const resolve = ['--noproxy', '*', '--resolve', `localhost:${httpsPort}:127.0.0.1`];
      const shown = ['-sk', '-o', '/dev/null', '-w', '%{http_version}', `https://localhost:${httpsPort}/`];
      const child = Bun.spawn(['curl', ...resolve, ...shown], { stdin: 'ignore', stdout: 'pipe' });
      expect(await new Response(child.stdout).text()).toBe('2');
      expect(printed()).not.toMatch(/http2.*deprecated/);
    });

    test('profiles from a backend arrive, however many, and so does the longest form', async () => {
      const port = startCounter();
      const proxy = await start(port);
      const post = async (path: string, bytes: number) => {
        const answer = await fetch(`https://localhost:${proxy.httpsPort}${path}`, {
          method: 'POST',
          body: Buffer.alloc(bytes, 0x20),
          tls: { rejectUnauthorized: false },
        });
        return answer.text();
      };
      expect(await post('/manage/v1/profiles?partial=1', 64 * 2 ** 20)).toBe(String(64 * 2 ** 20));
      expect(await post('/developers/keys/new', 65_536)).toBe('65536');
    });

    test('requests refused before Profile Lookup sees them get JSON too', async () => {
      // nginx keeps reading the announced body for some seconds.
      const answers = Object.entries(REFUSED[name]).map(async ([what, { status, text }]) => {
        const answer = await sendRawly(proxy.httpsPort, text);
        expect({ what, ...answer }).toMatchObject({ what, status, headers: OF_REFUSALS });
        expect({ what, body: JSON.parse(answer.body) }).toEqual({
          what,
          body: { error: expect.stringMatching(/^[A-Z].*\.$/) },
        });
        // Responses of Profile Lookup have an id.
        expect([what, answer.headers['x-request-id']]).toEqual([what, undefined]);
      });
      await Promise.all(answers);
    }, 30_000);

    test.skipIf(Bun.which('curl') === null)('requests refused over HTTP/2 get JSON too', async () => {
      const body = join(server.deps.folder, 'body');
      writeFileSync(body, Buffer.alloc(2_000_000));
      for (const words of [
        ['--data-binary', `@${body}`],
        ['-X', 'TRACE'],
      ]) {
        const url = `https://localhost:${proxy.httpsPort}/api/key`;
        const shown = ['-sk', '--http2', '--noproxy', '*', '-w', '\n%{http_version}', ...words, url];
        const child = Bun.spawn(['curl', ...shown], { stdin: 'ignore', stdout: 'pipe' });
        const [json = '', version] = (await new Response(child.stdout).text()).split('\n');
        expect([JSON.parse(json), version]).toEqual([{ error: expect.any(String) }, '2']);
      }
    });

    test('refusals by Profile Lookup arrive unchanged', async () => {
      const headers = { Authorization: `Bearer ${secret}` };
      for (const [path, status, code] of [
        ['/api/lookup/uid/x', 400, 'bad_parameter'],
        ['/api/nothing', 404, 'unknown_path'],
        ['/refused-by-nginx', 404, 'unknown_path'],
        [`/api/${'x'.repeat(8_200)}`, 414, 'uri_too_long'],
      ] as const) {
        const answer = await through(proxy, path, headers);
        expect(answer).toMatchObject({ status, headers: { 'x-error-code': code, 'cache-control': 'no-store' } });
      }
      expect(await through(proxy, '/api/key', headers, 'https', { form: {} })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD', 'x-error-code': 'method_not_allowed' },
      });
    });

    test('plain HTTP is refused, not redirected', async () => {
      const refused = await through(echoProxy, '/api/key', {}, 'http');
      expect(refused).toMatchObject({ status: 403, headers: { 'cache-control': 'no-store' } });
      expect(refused.headers['content-type']).toStartWith('application/json');
      expect(JSON.parse(refused.body.toString())).toEqual({ error: 'This API is served over HTTPS only.' });
    });

    test('while the server is down, requests get 503 as JSON, and the proxy’s log has no path', async () => {
      const gone = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') });
      const proxy = await start(gone.port ?? 0, SHORT_WAIT[name]);
      await gone.stop(true);
      const answer = await through(proxy, '/api/lookup/authid/very-private', { Authorization: 'Bearer very-secret' });
      expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5', 'cache-control': 'no-store' } });
      expect(answer.headers['content-type']).toStartWith('application/json');
      expect(JSON.parse(answer.body.toString())).toEqual({ error: expect.stringContaining('try again') });
      expect(proxy.printed()).not.toContain('very-');
    });
  });
}

test.skipIf(programPath('caddy') === null)('caddy: the file is valid as it is, and formatted as Caddy does', () => {
  const file = join(PROJECT, 'deploy/Caddyfile');
  const folder = tempFolder();
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const caddy = (...words: string[]) => Bun.spawnSync([programPath('caddy') ?? '', ...words], { env });
  const { exitCode, stderr } = caddy('validate', '--adapter', 'caddyfile', '--config', file);
  expect([exitCode, /not formatted/.exec(stderr.toString())]).toEqual([0, null]);
});

/** A longer response is compressed, and its ETag, sent back unchanged, gets no body. */
async function expectConditional(
  ask: (path: string, headers?: Record<string, string>) => ReturnType<typeof through>,
): Promise<void> {
  const plain = await ask('/api/leaderboard');
  const packed = await ask('/api/leaderboard', { 'Accept-Encoding': 'gzip' });
  expect(packed.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(new Uint8Array(packed.body)).toString()).toBe(plain.body.toString());
  const again = await ask('/api/leaderboard', {
    'Accept-Encoding': 'gzip',
    'If-None-Match': String(packed.headers.etag),
  });
  expect([again.status, again.body.length]).toEqual([304, 0]);
}

async function seenBy(
  proxy: ReverseProxy,
  target: string,
  headers: Record<string, string> = {},
): Promise<{ target: string; headers: Record<string, string> }> {
  const { body } = await through(proxy, target, headers);
  return JSON.parse(body.toString());
}
