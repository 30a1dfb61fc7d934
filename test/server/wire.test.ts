import { afterEach, describe, expect, test } from 'bun:test';
import { checkAnswer } from '../support/document.ts';
import { get, startTestServer } from '../support/http.ts';
import { prepare } from '../support/keys.ts';
import { insertProfile } from '../support/profiles.ts';
import { getRaw, sendRaw, takeApart } from './raw.ts';
import { SUBJECT } from './routes.ts';

// Hostile input on the wire. The server always sends one of its own responses, or the runtime's empty one, and continues
// serving.

const server = await startTestServer();
const secret = await prepare(server.deps);
const credentials = `Authorization: Bearer ${secret}`;

afterEach(async () => {
  server.deps.clock.advance(61_000);
  expect((await get(server, '/healthz')).status).toBe(200);
});

const ask = (target: string, ...lines: string[]) => getRaw(server, target, [credentials, ...lines]);
const send = async (text: string) => {
  const answer = takeApart(await sendRaw(server, Buffer.from(text, 'latin1')));
  const [method = '', target = ''] = text.split(' ');
  checkAnswer({ method, target, ...answer });
  return answer;
};

describe('finding the path', () => {
  for (const host of [
    'a',
    'a:1',
    'a:',
    '[::1]',
    '[::1]:3000',
    'localhost',
    'a.b.c.d.example',
    'api',
    'a:65535',
    '%41',
  ]) {
    test(`works with the Host ${host} (elysia #748)`, async () => {
      expect((await ask('/api/lookup/uid/7', `Host: ${host}`)).body).toContain('"username":"Ada"');
      expect((await ask('/healthz', `Host: ${host}`)).body).toBe('{"status":"ok"}');
      expect((await getRaw(server, '/api/key', [`Host: ${host}`])).status).toBe(401);
    });
  }

  const impossible = ['a:99999999', 'a:65536', '[::1]:65536', 'a:x', 'a:1:2', '::1'];
  for (const host of ['', ' ', 'a b', 'a/b', '/healthz', 'user@a', '???', 'a#b', '\\', '/', ...impossible]) {
    test(`the invalid Host "${host}" gets a 400`, async () => {
      const answer = await ask('/api/key', `Host: ${host}`);
      expect([answer.status, answer.body]).toEqual([400, '{"error":"The request has no valid Host header."}']);
    });
  }

  test('two Host lines get a 400, even if they are equal, and with an absolute-form target', async () => {
    for (const [one, other] of [
      ['a', 'b'],
      ['a', 'a'],
      ['a', ''],
      ['', 'a'],
    ]) {
      for (const target of ['/healthz', '/api/key', '/healthz/api/key', '/x/../healthz', 'http://a/healthz']) {
        const answer = await ask(target, `Host: ${one}`, `Host: ${other}`);
        expect([answer.status, answer.body]).toEqual([400, '{"error":"The request has no valid Host header."}']);
      }
    }
  });

  test('a request without a Host gets a 400: ours for HTTP/1.0, the runtime’s for 1.1', async () => {
    expect(await send('GET /healthz HTTP/1.0\r\n\r\n')).toMatchObject({ status: 400 });
    expect(await send('GET /healthz HTTP/1.1\r\n\r\n')).toMatchObject({ status: 400, body: '' });
  });

  test('the path of an absolute-form target is used, whatever its authority', async () => {
    for (const origin of ['http://a', 'http://evil.example:99', 'https://x']) {
      expect((await ask(`${origin}/api/lookup/uid/7`)).body).toContain('"username":"Ada"');
      expect((await getRaw(server, `${origin}/api/key`)).status).toBe(401);
      expect((await getRaw(server, origin)).status).toBe((await getRaw(server, '/')).status);
    }
  });

  test('an authority-form target gets a 400', async () => {
    expect((await getRaw(server, 'a:80', [], 'CONNECT')).status).toBe(400);
  });

  test('a path with repeated slashes is a different path', async () => {
    for (const target of ['//api/key', '///api/key', '//a/api/key']) {
      expect((await getRaw(server, target)).status).toBe(404);
      expect((await ask(target)).status).toBe(404);
    }
    for (const target of ['/api//key', '/api/lookup//uid/7', '/api/lookup/username//links', '/api/lookup/username/']) {
      expect((await getRaw(server, target)).status).toBe(401);
      expect((await ask(target)).status).toBe(404);
      server.deps.clock.advance(61_000);
    }
  });

  // Bun parses the URL as browsers do. Both readings of such a path lead to routes with the same guards.
  test('dot segments are resolved, even encoded ones, and a backslash is a slash', async () => {
    for (const target of ['/x/../api/key', '/x/%2e%2E/api/key', '/./api/key', '\\api\\key'.replace('\\', '/')]) {
      expect((await getRaw(server, target)).status).toBe(401);
      expect((await ask(target)).body).toContain('"identifier"');
    }
    expect((await getRaw(server, '/api/../healthz')).body).toBe('{"status":"ok"}');
    expect((await ask('/api/lookup/username/..')).status).toBe(404);
    expect((await ask('/api/lookup/username/%2e')).status).toBe(404);
  });

  test('a number sign does not begin a fragment: the path is unknown', async () => {
    expect((await ask('/api/key#x')).status).toBe(404);
    expect((await ask('/api/leaderboard?limit=5#x')).status).toBe(400);
    expect((await getRaw(server, '/healthz#')).status).toBe(404);
  });

  test('a percent-encoded path is a different path', async () => {
    expect((await getRaw(server, '/%61pi/key')).status).toBe(404);
    expect((await ask('/api%2Fkey')).status).toBe(404);
    expect((await ask('/api/%6Bey')).status).toBe(404);
  });
});

describe('decoding a path parameter', () => {
  insertProfile(server.deps.db, { id: 8, username: 'José ★', authId: 'https://x/?a=1&b=2#é' });
  insertProfile(server.deps.db, { id: 9, username: 'a+b', authId: 'a%2Fb' });
  insertProfile(server.deps.db, { id: 10, username: 'links', authId: 'x/links' });

  const found: [string, number][] = [
    [`authid/${encodeURIComponent(SUBJECT.authId)}`, 7],
    ['authid/auth0|a%2fb', 7],
    ['authid/https%3A%2F%2Fx%2F%3Fa%3D1%26b%3D2%23%C3%A9', 8],
    ['authid/a%252Fb', 9],
    ['authid/x%2Flinks', 10],
    ['username/Jos%C3%A9%20%E2%98%85', 8],
    ['username/José%20★', 8],
    ['username/JOSE%CC%81%20%E2%98%85', 8],
    ['username/a+b', 9],
    ['username/a%2Bb', 9],
    ['username/links', 10],
    ['username/%6Cinks', 10],
    ['uid/%37', 7],
  ];
  for (const [path, id] of found) {
    test(`${path} finds profile ${id}`, async () => {
      expect((await ask(`/api/lookup/${path}`)).body).toStartWith(`{"id":${id},`);
      expect((await ask(`/api/lookup/${path}/links`)).body).toBe('{"links":[]}');
    });
  }

  const broken = [
    '%',
    '%2',
    '%zz',
    'a%',
    '%C3',
    '%E2%98',
    '%FF',
    '%C0%AF',
    '%E0%80%AF',
    '%F0%80%80%AF',
    '%ED%A0%80',
    '%F5%80%80%80',
  ];
  test.each(broken)('%s gets a 400', async (name) => {
    const answer = await ask(`/api/lookup/username/${name}`);
    expect([answer.status, answer.body]).toEqual([400, '{"error":"username must be percent-encoded UTF-8."}']);
  });

  test('the sentence about a malformed value names its parameter', async () => {
    for (const parameter of ['username', 'uid', 'authId']) {
      for (const suffix of ['', '/links']) {
        const answer = await ask(`/api/lookup/${parameter.toLowerCase()}/%zz${suffix}`);
        expect([answer.status, answer.body]).toEqual([400, `{"error":"${parameter} must be percent-encoded UTF-8."}`]);
      }
    }
  });

  test('an invalid name gets the 404 of every unknown profile', async () => {
    for (const name of ['username/%00', 'authid/%00', 'username/a%2Fb', `username/${'a'.repeat(4_000)}`]) {
      const answer = await ask(`/api/lookup/${name}`);
      expect([answer.status, answer.body]).toEqual([404, '{"error":"There is no such profile."}']);
    }
  });

  test('a backslash is a slash, as in URL parsers, and the path is unknown', async () => {
    for (const way of ['username', 'authid']) expect((await ask(`/api/lookup/${way}/a\\`)).status).toBe(404);
  });

  // Bun's URL parser replaces the raw bytes with U+FFFD, so they can't be distinguished.
  test('raw bytes that are not UTF-8 are a bad parameter, and so is U+FFFD itself', async () => {
    const rest = `HTTP/1.1\r\nHost: a\r\n${credentials}\r\nConnection: close\r\n\r\n`;
    for (const name of ['\xe9\xff', '%EF%BF%BD']) {
      expect((await send(`GET /api/lookup/username/${name} ${rest}`)).status).toBe(400);
      expect((await send(`GET /api/lookup/authid/${name} ${rest}`)).status).toBe(400);
    }
  });
});

describe('length limits', () => {
  test('a path over 8 KiB is a 414 before the key is checked; 8 KiB are accepted', async () => {
    for (const head of ['/api/lookup/username/', '/', '/api/']) {
      const at = (length: number) => head + 'a'.repeat(length - head.length);
      expect((await getRaw(server, at(8_193))).status).toBe(414);
      expect((await getRaw(server, `${at(8_193)}?limit=1`)).status).toBe(414);
      expect((await ask(at(8_192))).status).toBe(404);
    }
  });

  test('the length of the query does not count', async () => {
    expect((await ask(`/api/key?${'a'.repeat(8_500)}`)).status).toBe(400);
  });

  test('headers or a target over 16 KiB, or too many headers, get the runtime’s 431', async () => {
    expect(await getRaw(server, '/healthz', [`X: ${'a'.repeat(20_000)}`])).toMatchObject({ status: 431, body: '' });
    expect(await getRaw(server, `/${'a'.repeat(20_000)}`)).toMatchObject({ status: 431, body: '' });
    const many = Array.from({ length: 300 }, (_, index) => `X${index}: a`);
    expect(await getRaw(server, '/healthz', many)).toMatchObject({ status: 431, body: '' });
  });

  test('a body over 1 GiB gets the runtime’s 413, a smaller one is not read', async () => {
    const post = (length: number) => getRaw(server, '/healthz', [`Content-Length: ${length}`], 'POST');
    expect(await post(1_100_000_000)).toMatchObject({ status: 413, body: '' });
    expect(await post(1_000_000_000)).toMatchObject({ status: 405 });
    const small = await send(
      'POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello',
    );
    expect(small.status).toBe(405);
  });
});

describe('broken requests', () => {
  const lines = [
    'GET /healthz',
    'GET  /healthz HTTP/1.1',
    'GET /healthz HTTP/2.0',
    'GET\t/healthz\tHTTP/1.1',
    'GET /healthz\t HTTP/1.1',
    'G\0T /healthz HTTP/1.1',
    'GET /heal\0thz HTTP/1.1',
    'GET /heal\x01thz HTTP/1.1',
    'GET * HTTP/1.1',
    'GET healthz HTTP/1.1',
    ' ',
    '\0\0\0\0',
  ];
  for (const line of lines) {
    test(`${JSON.stringify(line)} is refused with an empty response`, async () => {
      const text = await sendRaw(server, Buffer.from(`${line}\r\nHost: a\r\nConnection: close\r\n\r\n`, 'latin1'));
      expect(text).toMatch(/^HTTP\/1\.1 (400|505) /);
      expect(takeApart(text).body).toBe('');
    });
  }

  const fields = [
    'Authorization : x',
    'A\0: b',
    'A: b\0',
    ': b',
    'X',
    'A: b\r\n c',
    'Content-Length: -1',
    'Content-Length: 1\r\nContent-Length: 2',
    'Transfer-Encoding: chunked\r\nContent-Length: 3',
    'Transfer-Encoding: gzip',
  ];
  for (const field of fields) {
    test(`the field ${JSON.stringify(field)} is refused with an empty response`, async () => {
      const text = await sendRaw(
        server,
        Buffer.from(`GET /healthz HTTP/1.1\r\nHost: a\r\n${field}\r\nConnection: close\r\n\r\n`, 'latin1'),
      );
      expect(text).toMatch(/^HTTP\/1\.1 400 /);
      expect(takeApart(text).body).toBe('');
    });
  }

  test('two Authorization fields are refused, even if both are valid', async () => {
    const answer = await ask('/api/key', credentials);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="profile-lookup"');
  });
});

test('the request id is always the server’s own, and never repeated', async () => {
  const ids = new Set<string | null>();
  for (let turn = 0; turn < 20; turn++) {
    const { headers } = await getRaw(server, '/healthz', ['X-Request-Id: chosen-by-me']);
    ids.add(headers.get('x-request-id'));
  }
  expect(ids.size).toBe(20);
  expect(JSON.stringify([...ids])).not.toContain('chosen');
});
