import { afterAll, describe, expect, test } from 'bun:test';
import { addPlatform, createApp, createService } from '../../server/app.ts';
import { readTransport } from '../../server/http/transport.ts';
import { createLog } from '../../server/observability/log.ts';
import { closeReader } from '../../shared/db/reader.ts';
import { keyFor, prepare } from '../support/keys.ts';
import { testClock, testDeps } from '../support/world.ts';
import { expectRefusal } from './refusals.ts';
import { PAGES, pathOf, ROUTES } from './routes.ts';

// Tests of the application's own list of routes: a new route without its guards fails.

const clock = testClock();
const deps = testDeps({ clock, variables: { METRICS_TOKEN: 'scraper.7Rk2mQ9bTzA~', CONTACT: 'help@example.org' } });
const service = createService(
  deps,
  readTransport(deps.config),
  createLog('silent', clock.nowMs, () => {}),
);
afterAll(() => closeReader(service.reader));
const app = createApp(service);
await addPlatform(app, service);
const secret = await prepare(deps);

const REALM = 'Bearer realm="profile-lookup"';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];
const paths = [...new Set(app.routes.map(({ path }) => path))];
const isApi = (path: string) => path === '/api' || path.startsWith('/api/');
const isPortal = (path: string) => /^\/(developers|manage)(\/|$)/.test(path);
const isUnknown = (path: string) => ['/api', '/api/*', '/*'].includes(path);
const targetOf = (path: string) => pathOf({ path }).replace('*', 'nothing');

const ask = (path: string, method: string, key: string | null = null) =>
  app.fetch(
    new Request(`http://h${targetOf(path)}`, {
      method,
      headers: key === null ? {} : { Authorization: `Bearer ${key}` },
    }),
  );

/** Expects the refusal of a request by another method than GET and HEAD. */
async function expectOtherMethod(path: string, answer: Response, RateLimit: string | null): Promise<void> {
  if (isUnknown(path)) await expectRefusal(answer, 404, { Allow: null, RateLimit });
  else await expectRefusal(answer, 405, { Allow: 'GET, HEAD', RateLimit });
}

test('every route is documented, unknown, or the portal’s', () => {
  const known = paths.filter((path) => !isUnknown(path) && !isPortal(path));
  expect(known.sort()).toEqual(ROUTES.map(({ path }) => path).sort());
  expect(paths.filter((path) => path.startsWith('/manage')).sort()).toEqual([
    '/manage',
    '/manage/*',
    '/manage/v1/me',
    '/manage/v1/profiles',
    '/manage/v1/sign-ins',
  ]);
  expect(paths.filter(isApi).length).toBe(11);
});

test('every page and form is in the table that says who may use it', () => {
  const plain = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
  const routes = app.routes.filter(({ method, path }) => path.startsWith('/developers') && method !== 'ALL');
  expect(PAGES.map(plain).toSorted()).toEqual(routes.map(plain).toSorted());
});

test('no route validates or parses before the key is checked', () => {
  for (const { path, hooks } of app.routes) {
    for (const schema of ['body', 'query', 'params', 'headers', 'cookie', 'response'] as const) {
      expect([path, schema, hooks[schema]]).toEqual([path, schema, undefined]);
    }
  }
});

describe('every route under /api, by every method', () => {
  for (const path of paths.filter(isApi)) {
    test(`${path} refuses requests without a working key`, async () => {
      for (const method of METHODS) {
        clock.advance(60_001);
        if (method === 'HEAD') {
          expect((await ask(path, method)).status).toBe(401);
          continue;
        }
        await expectRefusal(await ask(path, method), 401, { RateLimit: null, 'WWW-Authenticate': REALM });
        const headers = { RateLimit: null, 'WWW-Authenticate': `${REALM}, error="invalid_token"` };
        await expectRefusal(await ask(path, method, 'plk_unknown'), 401, headers);
      }
    });

    test(`${path} refuses methods other than GET and HEAD, and counts the request unless it is free`, async () => {
      const { secret: counted } = await keyFor(deps, ['100/1m']);
      const isFree = ROUTES.find((route) => route.path === path)?.isFree === true;
      for (const [index, method] of METHODS.filter((one) => !/GET|HEAD/.test(one)).entries()) {
        const left = isFree ? 100 : 99 - index;
        const answer = await ask(path, method, counted);
        await expectOtherMethod(path, answer, `"1m";r=${left};t=60`);
      }
    });
  }
});

describe('every route outside /api', () => {
  for (const path of paths.filter((one) => !isApi(one) && !isPortal(one) && !/security|metrics/.test(one))) {
    test(`${path} accepts only GET and HEAD`, async () => {
      for (const method of METHODS.filter((one) => !/GET|HEAD/.test(one))) {
        await expectOtherMethod(path, await ask(path, method), null);
      }
    });
  }
});

test('requests with a key are answered synchronously: Elysia awaits none of their hooks and handlers', async () => {
  for (const { path, access } of ROUTES.filter((route) => route.access !== 'anyone')) {
    const answer = ask(path, 'GET', secret);
    expect([path, access, answer instanceof Response]).toEqual([path, access, true]);
    expect((await answer).status).toBe(200);
  }
});
