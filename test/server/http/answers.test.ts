import { describe, expect, test } from 'bun:test';
import { etagOf } from '../../../shared/etag.ts';
import { get, startTestServer } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { getRaw } from '../raw.ts';
import { KEY_ROUTES, pathOf } from '../routes.ts';

const server = await startTestServer({ variables: { PUBLIC_URL: 'https://example.org/profiles' } });
const secret = await prepare(server.deps);

// The headers that differ between any two responses.
const CHANGING = ['x-request-id', 'date', 'ratelimit'];

function lasting(headers: Headers, ...without: string[]): [string, string][] {
  return [...headers].filter(([name]) => !CHANGING.includes(name) && !without.includes(name)).sort();
}

for (const route of KEY_ROUTES) {
  describe(route.path, () => {
    const path = pathOf(route);

    test('a success has exactly these headers', async () => {
      const answer = await get(server, path, secret);
      expect(answer.status).toBe(200);
      const body = await answer.text();
      expect(Object.fromEntries(lasting(answer.headers))).toEqual({
        'cache-control': 'private, no-cache',
        'content-length': String(Buffer.byteLength(body)),
        'content-type': 'application/json',
        etag: etagOf(body),
        'ratelimit-policy': '"1s";q=1000000;w=1',
        vary: 'Authorization',
        'x-content-type-options': 'nosniff',
      });
      expect(JSON.stringify(JSON.parse(body))).toBe(body);
    });

    test('HEAD is GET without the body', async () => {
      const whole = await get(server, path, secret);
      await whole.text();
      server.deps.clock.advance(2_000);
      const head = await getRaw(server, path, [`Authorization: Bearer ${secret}`], 'HEAD');
      expect(head).toMatchObject({ status: 200, body: '' });
      if (route.isFree) return;
      expect(lasting(head.headers)).toEqual(lasting(whole.headers));
      expect(head.headers.get('date')).toMatch(/GMT$/);
      const missing = await getRaw(
        server,
        `${path}${path.includes('?') ? '&' : '?'}nope`,
        [`Authorization: Bearer ${secret}`],
        'HEAD',
      );
      expect(missing).toMatchObject({ status: 400, body: '' });
    });

    test('a client that has the body gets a 304 with the same headers, except type and length', async () => {
      const whole = await get(server, path, secret);
      const etag = whole.headers.get('etag') as string;
      for (const method of ['GET', 'HEAD']) {
        const ask = (condition: string) =>
          getRaw(server, path, [`Authorization: Bearer ${secret}`, `If-None-Match: ${condition}`], method);
        // The body of /api/key is another after each request.
        const again = await ask(route.isFree ? '*' : etag);
        expect(again).toMatchObject({ status: 304, body: '' });
        expect(again.headers.get('ratelimit')).toMatch(/^"1s";r=\d+;t=\d$/);
        const wanted = lasting(whole.headers, 'content-type', 'content-length');
        if (!route.isFree) expect(lasting(again.headers, 'content-length')).toEqual(wanted);
        // A 304 has no length, or that of the 200 (RFC 9110, section 8.6).
        const length = again.headers.get('content-length');
        if (!route.isFree) expect([null, whole.headers.get('content-length')]).toContain(length);
        expect((await ask('"x"')).status).toBe(200);
      }
    });
  });
}

test('an ETag depends on the body alone', async () => {
  insertProfile(server.deps.db, { id: 71, username: 'twin' });
  const byId = await get(server, '/api/lookup/uid/71', secret);
  const byName = await get(server, '/api/lookup/username/TWIN', secret);
  expect(byId.headers.get('etag')).toBe(byName.headers.get('etag'));
  server.deps.db.$client.run("UPDATE profiles SET profile = json_set(profile, '$.viewsCount', 1) WHERE id = 71");
  expect((await get(server, '/api/lookup/uid/71', secret)).headers.get('etag')).not.toBe(byId.headers.get('etag'));
});

test('a refusal is never a 304', async () => {
  for (const path of ['/api/lookup/uid/404', '/api/nothing', '/api/key?x=1']) {
    const answer = await get(server, path, secret, { headers: { 'If-None-Match': '*' } });
    expect(answer.status).toBeGreaterThan(304);
  }
});

describe('an alias', () => {
  insertProfile(server.deps.db, { id: 72, username: 'Zoë & Co?', aliases: ['zed', 'ZOO'] });

  test('returns the profile and the path of its username, with the public prefix', async () => {
    const home = '/profiles/api/lookup/username/Zo%C3%AB%20%26%20Co%3F';
    for (const [path, location] of [
      ['/api/lookup/username/zed', home],
      ['/api/lookup/username/ZED', home],
      ['/api/lookup/username/zoo/links', `${home}/links`],
      ['/api/lookup/username/Zo%C3%AB%20%26%20Co%3F', null],
      ['/api/lookup/username/zo%C3%AB%20%26%20co%3F/links', null],
      ['/api/lookup/uid/72', null],
    ] as const) {
      const answer = await get(server, path, secret);
      expect([path, answer.status, answer.headers.get('content-location')]).toEqual([path, 200, location]);
      const again = await get(server, path, secret, { headers: { 'If-None-Match': '*' } });
      expect([again.status, again.headers.get('content-location')]).toEqual([304, location]);
      expect((await get(server, '/api/lookup/uid/72', secret)).headers.has('content-location')).toBe(false);
    }
  });
});
