import { describe, expect, test } from 'bun:test';
import { settleBackground } from '../../../server/background.ts';
import { systemRandom } from '../../../shared/random.ts';
import { FAILURES } from '../../../shared/throttle.ts';
import { listTokens, newTokenText, removeToken } from '../../../shared/tokens.ts';
import { get } from '../../support/http.ts';
import { servePages, signInOwner } from '../../support/pages.ts';
import { addBackend } from '../../support/people.ts';
import { onBox } from '../../support/world.ts';
import { getRaw } from '../raw.ts';
import { expectRefusal, expectRefused } from '../refusals.ts';

const FEED_PATH = '/manage/v1/profiles';

const MANAGE_ROUTES = [
  { method: 'GET', path: '/manage/v1/me', right: null, takesJson: false },
  { method: 'POST', path: FEED_PATH, right: 'profiles', takesJson: false },
  { method: 'POST', path: '/manage/v1/sign-ins', right: 'sign-ins', takesJson: true },
] as const;

const world = await servePages();
const { server } = world;
const token = addBackend(world.access, { name: 'backend' }).token;

/** Sends a request under /manage, with a token unless it is null; an object is sent as JSON. */
async function call(
  server: { url: string },
  path: string,
  token: string | null,
  { body, ...init }: Omit<RequestInit, 'body'> & { body?: unknown } = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  const method = init.method ?? (body === undefined ? 'GET' : 'POST');
  if (body !== undefined && !headers.has('content-type')) headers.set('Content-Type', 'application/json');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(server.url + path, {
    ...init,
    method,
    headers,
    ...(body !== undefined && { body: text }),
  });
}

/** A body that no route accepts, for methods that have one. */
const bodyOf = ({ method }: { method: string }) => (method === 'GET' ? {} : { body: { uid: 7 } });

/** The methods of a path, in the order of the table. */
const methodsAt = (path: string) =>
  MANAGE_ROUTES.filter((one) => one.path === path).flatMap(({ method }) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );

test('/me returns the backend and the rights of a token, whose last use is recorded', async () => {
  const answer = await call(server, '/manage/v1/me', token);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(await answer.json()).toEqual({
    kind: 'backend',
    name: 'backend',
    token: token.slice(4, 12),
    rights: ['profiles', 'sign-ins'],
    withoutAddress: false,
  });
  await settleBackground(world.server.service.background);
  expect(listTokens(world.access.db)[0]?.lastUsedAt).toBe('2026-01-01T00:00:00.000Z');
});

test('HEAD gets the response of GET without the body', async () => {
  const answer = await call(server, '/manage/v1/me', token, { method: 'HEAD' });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
});

for (const route of MANAGE_ROUTES) {
  describe(`${route.method} ${route.path}`, () => {
    const ask = (sent: string | null, init: Parameters<typeof call>[3] = {}) =>
      call(server, route.path, sent, { method: route.method, ...bodyOf(route), ...init });

    test('refuses a missing token, and a mistyped or unknown one', async () => {
      world.clock.advance(61_000);
      const cookie = signInOwner(world.access, 7);
      const none = [await ask(null), await ask(null, { headers: { cookie } })];
      none.push(await ask(null, { headers: { Authorization: 'Basic YTpi' } }));
      for (const answer of none) {
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="profile-lookup"');
        await expectRefused(answer, 401, 'no_credentials');
      }
      const unknown = newTokenText(systemRandom).token;
      for (const sent of [unknown, `${token.slice(0, -1)}~`, token.slice(0, -1), token.replace('plp', 'plk')]) {
        const answer = await ask(sent);
        expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
        await expectRefused(answer, 401, 'invalid_token');
      }
    });

    test('refuses other methods and unknown parameters', async () => {
      const methods = methodsAt(route.path);
      for (const method of ['PUT', 'DELETE', 'PATCH', 'POST', 'GET'].filter((one) => !methods.includes(one))) {
        const answer = await call(server, route.path, token, { method });
        expect(answer.headers.get('allow')).toBe(methods.join(', '));
        await expectRefused(answer, 405, 'method_not_allowed');
      }
      const init = { method: route.method, ...bodyOf(route) };
      const unknown = await call(server, `${route.path}?a=1`, token, init);
      await expectRefused(unknown, 400, 'bad_parameter');
    });

    const { right } = route;
    if (right !== null)
      test('refuses a token without its right, which the sentence names', async () => {
        const wrong = right === 'profiles' ? 'sign-ins' : 'profiles';
        const other = addBackend(world.access, {
          name: `right ${MANAGE_ROUTES.indexOf(route)}`,
          rights: [wrong],
        }).token;
        const answer = await ask(other);
        expect(answer.headers.get('www-authenticate')).toContain(`scope="${right}"`);
        expect(await expectRefused(answer, 403, 'insufficient_scope')).toContain(right);
      });

    if (route.takesJson)
      test('accepts only one JSON object with the right members', async () => {
        const type = await ask(token, { body: '{}', headers: { 'Content-Type': 'text/plain' } });
        await expectRefused(type, 415, 'not_json');
        for (const body of ['', '{', '[]', 'null', '"a"', '{"uid":7,"other":1}', '{"__proto__":1}']) {
          await expectRefused(await ask(token, { body }), 400, 'bad_body');
        }
        await expectRefused(await ask(token, { body: `{"uid":"${'7'.repeat(65_536)}"}` }), 413, 'body_too_long');
      });
  });
}

test('a removed token is refused from the next request on, also for profiles', async () => {
  for (const path of ['/manage/v1/me', FEED_PATH]) {
    const other = addBackend(world.access, { name: 'removed' }).token;
    const ask = () => call(server, path, other, path === FEED_PATH ? { body: {} } : {});
    expect((await ask()).status).not.toBe(401);
    removeToken(world.access, other.slice(4, 12), onBox('root'));
    await expectRefused(await ask(), 401, 'invalid_token');
  }
});

test('an unknown path gets a 404 only with a valid token', async () => {
  world.clock.advance(61_000);
  for (const path of ['/manage', '/manage/', '/manage/v1', '/manage/v2/me', '/manage/v1/me/', '/manage/v1/%6de']) {
    await expectRefused(await call(server, path, null), 401, 'no_credentials');
    await expectRefused(await call(server, path, token), 404, 'unknown_path');
  }
  await expectRefusal(await get(server, '/managex'), 404);
});

test('failed logins are counted together with those under /api, and a valid token is always accepted', async () => {
  world.clock.advance(61_000);
  for (let sent = 0; sent < FAILURES.quota / 2; sent++) {
    await expectRefused(await call(server, '/manage/v1/me', null), 401, 'no_credentials');
    await get(server, '/api/key');
  }
  const late = await call(server, '/manage/v1/me', 'plp_wrong');
  expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
  await expectRefused(late, 429, 'too_many_failures');
  expect((await call(server, '/manage/v1/me', token)).status).toBe(200);
});

test('the log has the route, but never a token or a path that was sent', async () => {
  await call(server, '/manage/v1/me', token);
  await call(server, '/manage/a-secret-path', token);
  const routes = server.log.slice(-2).map(({ route, status }) => [route, status]);
  expect(routes).toEqual([
    ['/manage/v1/me', 200],
    ['/manage/*', 404],
  ]);
  expect(JSON.stringify(server.log)).not.toMatch(/plp_\w{8}_|a-secret-path/);
});

describe('on a public host name, behind a proxy', async () => {
  const { access, server } = await servePages({ PUBLIC_URL: 'https://api.example.org', TRUSTED_PROXIES: '127.0.0.1' });
  const token = addBackend(access).token;

  test.each([
    ['GET', '/manage/v1/me'],
    ['POST', '/manage/v1/profiles'],
    ['POST', '/manage/v1/sign-ins'],
  ])(
    '%s %s refuses plain HTTP and a missing host, and reports an error of the server without its cause',
    async (method, path) => {
      const ask = (headers: Record<string, string> = {}) =>
        call(server, path, token, {
          method,
          ...(method === 'POST' && { body: {} }),
          headers: { 'X-Forwarded-Proto': 'https', ...headers },
        });
      await expectRefused(await ask({ 'X-Forwarded-Proto': 'http' }), 403, 'plain_http');
      const raw = await getRaw(server, path, ['Host: ', 'Content-Length: 0'], method);
      expect([raw.status, raw.headers.get('x-error-code')]).toEqual([400, 'bad_request']);
      access.db.$client.run('ALTER TABLE backend_tokens RENAME TO gone');
      const sentence = await expectRefused(await ask(), 500, 'internal');
      access.db.$client.run('ALTER TABLE gone RENAME TO backend_tokens');
      expect(sentence).not.toMatch(/profiles\.db|SQL|no such table/);
    },
  );
});
