import { describe, expect, test } from 'bun:test';
import { FAILURES } from '../../../server/http/throttle.ts';
import { type Admitted, FEED_PATH } from '../../../server/manage/request-context.ts';
import { MANAGE_ROUTES } from '../../../server/manage/routes.ts';
import { settleBackground } from '../../../server/thread/background.ts';
import { removeAdmin } from '../../../shared/admins/admins.ts';
import { listTokens, removeToken } from '../../../shared/backends/backend-tokens.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import { systemRandom } from '../../../shared/random.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { newTokenText } from '../../../shared/sign-ins/token-text.ts';
import { onBox } from '../../support/actors.ts';
import { get, startTestServer } from '../../support/http.ts';
import { importLines } from '../../support/import.ts';
import { request } from '../../support/keys.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { call, expectRefused, personTokenFor, tokenFor } from '../../support/portal/manage.ts';
import { ADA } from '../../support/portal/owner-pages.ts';
import { pageWorld, serverOfPages, signInOwner } from '../../support/portal/pages.ts';
import { expectRefusal } from '../../support/requests.ts';

const world = pageWorld({ PUBLIC_URL: 'http://localhost:3000' });
await importLines(world.access, [ADA]);
const server = await serverOfPages(world);
const token = tokenFor(world.access);
const tokenOfAda = personTokenFor(world.access, ownerToSign(world.access, ADA.id) as Signed);
const tokenOfGrace = personTokenFor(
  world.access,
  (await signIn(world.access, await enrol(world.access, 'Grace'))).signed,
);

/** A key of Ada's. */
const pending = await request(world.access, { profile: ADA.username });

/** The path of a route, with the identifier of that key. */
const pathOf = ({ path }: { path: string }) => path.replace(':identifier', pending);

/** Whether a route always refuses, because admins decide on a page. */
const isPageOnly = ({ path }: { path: string }) =>
  DECISIONS.some(({ who, doors }) => who.owner === 'none' && path === `/manage/v1/keys${doors.json?.path}`);

/** A body that no route accepts, for methods that have one. */
const bodyOf = ({ method }: { method: string }) => (method === 'GET' ? {} : { body: { uid: 7 } });

/** A token that a route accepts. */
const tokenOf = ({ who }: { who: Admitted }) => (who === 'person' ? tokenOfAda : token);

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
    kind: 'platform',
    name: 'backend',
    token: token.slice(4, 12),
    rights: ['profiles', 'sign-ins'],
    withoutAddress: false,
    eraseLimit: 1000,
  });
  await settleBackground(world.services.background);
  expect(listTokens(world.access)[0]?.lastUsedAt).toBe('2026-01-01T00:00:00.000Z');
});

test('/me returns the person of a token, and when it expires', async () => {
  const ask = async (sent: string) => (await call(server, '/manage/v1/me', sent)).json();
  const endsAt = { owner: '2026-04-01T00:00:00.000Z', admin: '2026-01-01T12:00:00.000Z' };
  const owner = { kind: 'owner', name: 'ada', token: tokenOfAda.slice(4, 12), endsAt: endsAt.owner, profile: 'ada' };
  expect(await ask(tokenOfAda)).toEqual(owner);
  const admin = { kind: 'admin', name: 'Grace', token: tokenOfGrace.slice(4, 12), endsAt: endsAt.admin };
  expect(await ask(tokenOfGrace)).toEqual(admin);
  await importLines(world.access, [{ ...ADA, username: 'lovelace' }]);
  expect(await ask(tokenOfAda)).toMatchObject({ name: 'lovelace', profile: 'lovelace' });
});

test('HEAD gets the response of GET without the body', async () => {
  const answer = await call(server, '/manage/v1/me', token, { method: 'HEAD' });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
});

for (const route of MANAGE_ROUTES) {
  describe(`${route.method} ${route.path}`, () => {
    const ask = (sent: string | null, init: Parameters<typeof call>[3] = {}) =>
      call(server, pathOf(route), sent, { method: route.method, ...bodyOf(route), ...init });

    test('refuses a missing token, one of another kind, and a mistyped or unknown one', async () => {
      world.clock.advance(61_000);
      const cookie = signInOwner(world.access, 7);
      const none = [await ask(null), await ask(null, { headers: { cookie } })];
      none.push(await ask(null, { headers: { Authorization: 'Basic YTpi' } }));
      for (const answer of none) {
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="profile-lookup"');
        await expectRefused(answer, 401, 'no_credentials');
      }
      const foreign = (['plp', 'plt'] as const).map((prefix) => newTokenText(prefix, systemRandom).token);
      const mistyped = [`${token.slice(0, -1)}~`, token.slice(0, -1), token.replace('plp', 'plk')];
      // The checksum covers the prefix, so no token is valid as one of the other kind.
      mistyped.push(token.replace('plp', 'plt'), tokenOfAda.replace('plt', 'plp'), tokenOfAda.slice(0, -1));
      for (const sent of [...foreign, ...mistyped]) {
        const answer = await ask(sent);
        expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
        await expectRefused(answer, 401, 'invalid_token');
      }
    });

    test('refuses other methods and unknown parameters', async () => {
      const methods = methodsAt(route.path);
      for (const method of ['PUT', 'DELETE', 'PATCH', 'POST', 'GET'].filter((one) => !methods.includes(one))) {
        const answer = await call(server, pathOf(route), token, { method });
        expect(answer.headers.get('allow')).toBe(methods.join(', '));
        await expectRefused(answer, 405, 'method_not_allowed');
      }
      const init = { method: route.method, ...bodyOf(route) };
      const unknown = await call(server, `${pathOf(route)}?a=1`, tokenOf(route), init);
      if (isPageOnly(route)) await expectRefused(unknown, 403, 'forbidden');
      else await expectRefused(unknown, 400, 'bad_parameter');
    });

    const { who } = route;
    if (typeof who === 'object')
      test('refuses people’s tokens, and one without its right, which the sentence names', async () => {
        for (const sent of [tokenOfAda, tokenOfGrace]) await expectRefused(await ask(sent), 403, 'forbidden');
        const right = who.backend === 'profiles' ? 'sign-ins' : 'profiles';
        const other = tokenFor(world.access, { name: `right ${MANAGE_ROUTES.indexOf(route)}`, rights: [right] });
        const answer = await ask(other);
        expect(answer.headers.get('www-authenticate')).toContain(`scope="${who.backend}"`);
        expect(await expectRefused(answer, 403, 'insufficient_scope')).toContain(who.backend);
      });

    if (route.members !== null)
      test('accepts only one JSON object with the right members', async () => {
        const sent = tokenOf(route);
        const type = await ask(sent, { body: '{}', headers: { 'Content-Type': 'text/plain' } });
        await expectRefused(type, 415, 'not_json');
        for (const body of ['', '{', '[]', 'null', '"a"', '{"uid":7,"other":1}', '{"__proto__":1}']) {
          await expectRefused(await ask(sent, { body }), 400, 'bad_body');
        }
        await expectRefused(await ask(sent, { body: `{"uid":"${'7'.repeat(65_536)}"}` }), 413, 'body_too_long');
      });
  });
}

test('a removed token is refused from the next request on, also for profiles, which have a route of their own', async () => {
  for (const path of ['/manage/v1/me', FEED_PATH]) {
    const other = tokenFor(world.access, { name: 'removed' });
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

test('a personal token is refused from the next request on if the e-mail address changes or the admin is removed', async () => {
  world.clock.advance(61_000);
  const me = async (sent: string) => (await call(server, '/manage/v1/me', sent)).status;
  expect([await me(tokenOfAda), await me(tokenOfGrace)]).toEqual([200, 200]);
  await importLines(world.access, [{ ...ADA, email: 'new@example.org' }]);
  removeAdmin(world.access, 'Grace', onBox('root'));
  for (const sent of [tokenOfAda, tokenOfGrace]) {
    await expectRefused(await call(server, '/manage/v1/me', sent), 401, 'invalid_token');
  }
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
  expect(JSON.stringify(server.log)).not.toMatch(/pl[pt]_\w{8}_|a-secret-path/);
});

test('with DEVELOPER_PLATFORM=off all paths are unknown; with on, the portal’s thread answers', async () => {
  const off = await startTestServer({ variables: { DEVELOPER_PLATFORM: 'off' } });
  await expectRefusal(await get(off, '/manage/v1/me'), 404);
  const on = await startTestServer();
  await expectRefused(await call(on, '/manage/v1/me', null), 401, 'no_credentials');
});
