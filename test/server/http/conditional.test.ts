import { describe, expect, test } from 'bun:test';
import { get, getRaw, sendRaw, startTestServer, takeApart } from '../../support/http.ts';
import { changeBySql, insertProfile } from '../../support/profiles.ts';
import { KEY_ROUTES, keyFor, pathOf, prepare } from '../../support/requests.ts';

// Conditional requests (RFC 9110, section 13) with several clients, several fields or other conditions. answers.test.ts tests
// each route with one condition.

const server = await startTestServer();
const secret = await prepare(server.deps);
const other = await keyFor(server.deps, ['1000000/1m']);
insertProfile(server.deps.db, { id: 71, username: 'Łukasz 🌸', displayName: '名前 — ﷽' });

const PATHS = KEY_ROUTES.filter((route) => !route.isFree).map(pathOf);
const credentials = `Authorization: Bearer ${secret}`;

describe('a tag from one key', () => {
  for (const path of PATHS) {
    test(`works with another: ${path}`, async () => {
      const etag = (await get(server, path, secret)).headers.get('etag') as string;
      const again = await get(server, path, other.secret, { headers: { 'If-None-Match': etag } });
      expect([again.status, again.headers.get('etag')]).toEqual([304, etag]);
      // A shared cache still has to keep the keys apart.
      expect(again.headers.get('vary')).toBe('Authorization');
      expect(again.headers.get('cache-control')).toBe('private, no-cache');
    });
  }

  test('does not work without a key', async () => {
    const etag = (await get(server, '/api/lookup/uid/7', secret)).headers.get('etag') as string;
    expect((await get(server, '/api/lookup/uid/7', null, { headers: { 'If-None-Match': etag } })).status).toBe(401);
    expect((await get(server, '/api/lookup/uid/7', null, { headers: { 'If-None-Match': '*' } })).status).toBe(401);
  });
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
  const path = '/api/lookup/uid/7';

  test('in several fields is one list (RFC 9110, section 5.3)', async () => {
    const etag = (await get(server, path, secret)).headers.get('etag') as string;
    const lines = [credentials, 'If-None-Match: "a"', `If-None-Match: W/"b", ${etag}`, 'If-None-Match: "c"'];
    expect((await getRaw(server, path, lines)).status).toBe(304);
    const without = [credentials, 'If-None-Match: "a"', 'If-None-Match: W/"b"'];
    expect((await getRaw(server, path, without)).status).toBe(200);
  });

  test('may have empty elements, tabs, and tags with a comma', async () => {
    const etag = (await get(server, path, secret)).headers.get('etag') as string;
    for (const list of [`,, ${etag}`, `"a,${etag.slice(1, -1)}b",\t${etag} ,`, `"", W/"",${etag}`]) {
      expect((await getRaw(server, path, [credentials, `If-None-Match: ${list}`])).status).toBe(304);
    }
    for (const list of [`"a, ${etag.slice(1, -1)}, b"`, '"*"', etag.replaceAll('"', "'")]) {
      expect((await getRaw(server, path, [credentials, `If-None-Match: ${list}`])).status).toBe(200);
    }
  });

  test('of ten thousand characters is read without delaying the server', async () => {
    const list = `"${'a'.repeat(5_000)}", ${'"b",'.repeat(1_250)}`;
    expect((await getRaw(server, path, [credentials, `If-None-Match: ${list}`])).status).toBe(200);
    expect((await getRaw(server, path, [credentials, `If-None-Match: ${list} *`])).status).toBe(200);
  });

  test('overrides If-Modified-Since, which has no effect here, because there is no Last-Modified', async () => {
    const since = 'If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT';
    expect((await getRaw(server, path, [credentials, since])).status).toBe(200);
    expect((await getRaw(server, path, [credentials, since, 'If-None-Match: "x"'])).status).toBe(200);
  });

  test('leaves the connection usable: the next response is not read as the body of the 304', async () => {
    const etag = (await get(server, path, secret)).headers.get('etag') as string;
    const one = (more: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n${credentials}\r\n${more}\r\n`;
    const text = await sendRaw(server, one(`If-None-Match: ${etag}\r\n`) + one('Connection: close\r\n'));
    const second = text.indexOf('HTTP/1.1 200');
    expect(takeApart(text.slice(0, second))).toMatchObject({ status: 304, body: '' });
    expect(takeApart(text.slice(second)).body).toContain('"username":"Ada"');
  });
});

test('changing a public field changes the tag, changing a private field does not', async () => {
  const tag = async () => (await get(server, '/api/lookup/uid/7', secret)).headers.get('etag');
  const before = await tag();
  changeBySql(server.deps.db, "UPDATE profiles SET email = 'new@example.org', auth_id = 'x' WHERE id = 7");
  expect(await tag()).toBe(before);
  changeBySql(server.deps.db, 'UPDATE profiles SET show_followers_count = 0 WHERE id = 7');
  const hidden = await tag();
  expect(hidden).not.toBe(before);
  changeBySql(server.deps.db, 'UPDATE profiles SET followers_count = 99 WHERE id = 7');
  expect(await tag()).toBe(hidden);
});
