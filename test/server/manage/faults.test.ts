import { expect, test } from 'bun:test';
import { FEED_PATH, type ManageRoute } from '../../../server/manage/request-context.ts';
import { MANAGE_ROUTES } from '../../../server/manage/routes.ts';
import { getRaw } from '../../support/http.ts';
import { call, expectRefused, tokenFor } from '../../support/portal/manage.ts';
import { ownerWorld } from '../../support/portal/owner-pages.ts';
import { answerIn, portalOf, serverOfPages } from '../../support/portal/pages.ts';

// The refusals of every path with a token that come before authentication, or are not the client's fault.

const world = await ownerWorld({ PUBLIC_URL: 'https://api.example.org', TRUSTED_PROXIES: '127.0.0.1' });
const { access } = world;
const gate = Promise.withResolvers<void>();
let state: 'well' | 'silent' | 'held' = 'well';
let held = 0;
const server = await serverOfPages(world, {
  portal: portalOf(world, async (request) => {
    // As if the thread did not answer.
    if (state === 'silent') throw new Error('The thread dies.');
    if (state === 'held') {
      held++;
      await gate.promise;
    }
    return answerIn(world, request);
  }),
});
// Requests wait only briefly for a locked file.
for (const sqlite of [access.sessions.sqlite, access.db.$client]) sqlite.run('PRAGMA busy_timeout = 20');
const platform = tokenFor(access);

function ask(
  { method, path }: Pick<ManageRoute, 'method' | 'path'>,
  token: string,
  body: object = {},
  headers: Record<string, string> = {},
) {
  return call(server, path, token, {
    method,
    ...(method !== 'GET' && { body }),
    headers: { 'X-Forwarded-Proto': 'https', ...headers },
  });
}

for (const route of MANAGE_ROUTES) {
  test(`${route.method} ${route.path} refuses plain HTTP and a missing host, and reports an unresponsive thread and a server error`, async () => {
    await expectRefused(await ask(route, platform, {}, { 'X-Forwarded-Proto': 'http' }), 403, 'plain_http');
    const raw = await getRaw(server, route.path, ['Host: ', 'Content-Length: 0'], route.method);
    expect([raw.status, raw.headers.get('x-error-code')]).toEqual([400, 'bad_request']);
    state = 'silent';
    const silent = await ask(route, platform);
    state = 'well';
    // Profiles don't pass through that thread.
    if (route.path === FEED_PATH) await expectRefused(silent, 415, 'not_lines');
    else {
      expect(silent.headers.get('retry-after')).toBe('1');
      await expectRefused(silent, 503, 'busy');
    }
    const tables = [
      [access.db.$client, 'platform_tokens'],
      [access.sessions.sqlite, 'sign_ins'],
    ] as const;
    for (const [sqlite, table] of tables) sqlite.run(`ALTER TABLE ${table} RENAME TO no_${table}`);
    const sentence = await expectRefused(await ask(route, platform), 500, 'internal');
    for (const [sqlite, table] of tables) sqlite.run(`ALTER TABLE no_${table} RENAME TO ${table}`);
    expect(sentence).not.toMatch(/profiles\.db|SQL|sessions file|no such table/);
  });
}

test('if too many requests are in flight, further ones get a 503 with Retry-After', async () => {
  state = 'held';
  const me = { method: 'GET', path: '/manage/v1/me' } as const;
  const waiting = Array.from({ length: 32 }, () => ask(me, platform));
  while (held < waiting.length) await Bun.sleep(10);
  for (const route of MANAGE_ROUTES.filter(({ path }) => path !== FEED_PATH)) {
    const late = await ask(route, platform);
    expect(late.headers.get('retry-after')).toBe('1');
    await expectRefused(late, 503, 'too_many_pages');
  }
  gate.resolve();
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(32).fill(200));
});
