import { describe, expect, test } from 'bun:test';
import { acceptsGzip, matches } from '../../../server/http/answers.ts';
import { get, startTestServer } from '../../support/http.ts';
import { keyFor, prepare } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { getRaw, sendRaw, takeApart } from '../raw.ts';

// Conditional requests (RFC 9110, section 13) and Accept-Encoding. answers.test.ts tests each route with one condition.

const server = await startTestServer();
const secret = await prepare(server.deps);
const other = await keyFor(server.deps, ['1000000/1m']);
insertProfile(server.deps.db, { id: 71, username: 'Łukasz 🌸', displayName: '名前 — ﷽' });

const PATH = '/api/lookup/uid/7';
const credentials = `Authorization: Bearer ${secret}`;

test('a tag from one key works with another, but not without a key', async () => {
  const etag = (await get(server, PATH, secret)).headers.get('etag') as string;
  expect((await get(server, PATH, other.secret, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  for (const value of [etag, '*']) {
    expect((await get(server, PATH, null, { headers: { 'If-None-Match': value } })).status).toBe(401);
  }
});

describe('a body with multi-byte characters', () => {
  for (const path of ['/api/lookup/uid/71', '/api/lookup?uid=71&username=%C5%81ukasz%20%F0%9F%8C%B8']) {
    test(`has a Content-Length in bytes, also for HEAD: ${path}`, async () => {
      const whole = await get(server, path, secret);
      const body = await whole.text();
      for (const method of ['GET', 'HEAD']) {
        const answer = await getRaw(server, path, [credentials], method);
        expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(body)));
        expect(answer.headers.get('etag')).toBe(whole.headers.get('etag'));
        expect(answer.body.length).toBe(method === 'GET' ? Buffer.byteLength(body) : 0);
      }
    });
  }
});

describe('If-None-Match', () => {
  test('in several fields is one list (RFC 9110, section 5.3)', async () => {
    const etag = (await get(server, PATH, secret)).headers.get('etag') as string;
    const lines = [credentials, 'If-None-Match: "a"', `If-None-Match: W/"b", ${etag}`, 'If-None-Match: "c"'];
    expect((await getRaw(server, PATH, lines)).status).toBe(304);
    const without = [credentials, 'If-None-Match: "a"', 'If-None-Match: W/"b"'];
    expect((await getRaw(server, PATH, without)).status).toBe(200);
  });

  test('overrides If-Modified-Since, which has no effect here, because there is no Last-Modified', async () => {
    const since = 'If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT';
    expect((await getRaw(server, PATH, [credentials, since])).status).toBe(200);
    expect((await getRaw(server, PATH, [credentials, since, 'If-None-Match: "x"'])).status).toBe(200);
  });

  test('leaves the connection usable: the next response is not read as the body of the 304', async () => {
    const etag = (await get(server, PATH, secret)).headers.get('etag') as string;
    const one = (more: string) => `GET ${PATH} HTTP/1.1\r\nHost: a\r\n${credentials}\r\n${more}\r\n`;
    const text = await sendRaw(server, one(`If-None-Match: ${etag}\r\n`) + one('Connection: close\r\n'));
    const second = text.indexOf('HTTP/1.1 200');
    expect(takeApart(text.slice(0, second))).toMatchObject({ status: 304, body: '' });
    expect(takeApart(text.slice(second)).body).toContain('"username":"Ada"');
  });
});

describe('the tag "Ab-c" is matched', () => {
  const etag = '"Ab-c"';
  const matching = [
    etag,
    `W/${etag.slice(0, -1)}-gzip"`,
    `W/${etag}`,
    '*',
    ' * ',
    `"x", ${etag}`,
    `"x,y",W/"z" , W/${etag}`,
    `,, ${etag}`,
    `"a,Ab-cb",\t${etag} ,`,
    `"", W/"",${etag}`,
  ];
  const other = ['"x"', 'Ab-c', '"ab-c"', '', 'W/', '"', '"a, Ab-c, b"', '"*"', "'Ab-c'", `${etag} "x"`, `"x", *`];

  test('by itself, by "*" and in lists, weak or strong', () => {
    expect(matching.filter((list) => !matches(list, etag))).toEqual([]);
  });

  test('by no other or malformed list', () => {
    expect(other.filter((list) => matches(list, etag))).toEqual([]);
  });

  test('in ten thousand characters without delay', () => {
    const list = `"${'a'.repeat(5_000)}", ${'"b",'.repeat(1_250)}`;
    expect([list, `${list} *`, `${list} ${etag}`].map((each) => matches(each, etag))).toEqual([false, false, true]);
  });
});

describe('gzip is accepted by an Accept-Encoding that', () => {
  const cases: [accepted: string | null, isGzip: boolean][] = [
    [null, false],
    ['', false],
    ['gzip', true],
    ['X-GZIP', true],
    ['br, gzip ; q=0.001', true],
    ['gzip;q=0', false],
    ['gzip;q=0, *', false],
    ['*', true],
    ['*;q=0', false],
    ['identity;q=0.5, gzip', true],
    ['identity, gzip;q=0.5', false],
    ['gzip;q=many', false],
  ];
  test('allows it, and does not prefer an uncompressed body', () => {
    expect(cases.map(([accepted]) => [accepted, acceptsGzip(accepted)])).toEqual(cases);
  });
});
