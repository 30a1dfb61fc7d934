import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settleBackground } from '../../../server/background.ts';
import { EMPTY_POLICY } from '../../../server/frame/frame.ts';
import { MAX_LISTED } from '../../../shared/sign-in/sessions.ts';
import { get, serverOn, startTestServer } from '../../support/http.ts';
import { ADA, fetchPage, type ServedPages, servePages, signInOwner } from '../../support/pages.ts';
import { countRows, signedIn } from '../../support/people.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';
import { expectRefusal } from '../refusals.ts';
import { PAGES } from '../routes.ts';

const METRICS_TOKEN = 'scraper.7Rk2mQ9bTzA~';
const POLICY =
  /^default-src 'none'; style-src 'self'; script-src( 'sha256-[\w+/]{43}=')+; (connect-src 'self'; )?img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/;

const world = await servePages({ METRICS_TOKEN });
const { access, server } = world;

const pathsOf = (method: string) => PAGES.filter((route) => route.method === method).map(({ path }) => path);
const asPath = (template: string) => template.replace(/:\w+/g, '999');

describe('every response', () => {
  test('has the security headers and is never cached, including refusals', async () => {
    const asked = [
      ...[...pathsOf('GET').map(asPath), '/developers/nothing', '/developers/'].map((path) => ['GET', path] as const),
      ...pathsOf('POST').map((path) => ['POST', asPath(path)] as const),
    ];
    const redirected = { GET: 0, POST: 0 };
    for (const [method, path] of asked) {
      for (const headers of [{}, { cookie: signInOwner(access, 7) }]) {
        const answer = await fetchPage(server, path, { method, headers });
        expect(answer.headers.get('cache-control')).toBe('no-store');
        expect(answer.headers.get('referrer-policy')).toBe('same-origin');
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
        expect(answer.headers.get('x-request-id')).toMatch(/^[0-9A-Za-z]{12}-[0-9a-z]+$/);
        expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
        expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin');
        expect(answer.headers.get('cross-origin-resource-policy')).toBe('same-origin');
        if (answer.status === 303) {
          redirected[method]++;
          expect(answer.headers.get('content-security-policy')).toBe(EMPTY_POLICY);
          continue;
        }
        expect(answer.headers.get('content-security-policy')).toMatch(POLICY);
        expect(answer.body).not.toMatch(/<script(?! type="module">)|\sstyle=|\son\w+=|@import|url\(|\ssrc=/);
        expect([answer.status >= 400, answer.body.includes('<title>Error: ')]).toEqual(
          Array(2).fill(answer.status >= 400),
        );
      }
    }
    expect([redirected.GET > 0, redirected.POST > 0]).toEqual([true, true]);
  });

  test('to HEAD has the headers of GET without the page', async () => {
    const [head, whole] = [
      await fetchPage(server, '/developers', { method: 'HEAD' }),
      await fetchPage(server, '/developers'),
    ];
    expect([head.status, head.body]).toEqual([200, '']);
    for (const name of ['content-length', 'content-type', 'content-security-policy']) {
      expect(head.headers.get(name)).toBe(whole.headers.get(name));
    }
    expect(head.headers.get('date')).not.toBeNull();
  });
});

describe('the style sheet', () => {
  const linkOn = async (path: string) =>
    /<link rel="stylesheet" href="(.+)">/.exec((await fetchPage(server, path)).body)?.[1] ?? '';

  test('is one file for all pages, which browsers keep and no page repeats', async () => {
    const link = await linkOn('/developers');
    for (const path of ['/developers/sign-in', '/developers/nothing']) expect(await linkOn(path)).toBe(link);
    const answer = await fetch(server.url + link);
    expect(answer.headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    const unchanged = { 'If-None-Match': answer.headers.get('etag') as string };
    expect((await fetch(server.url + link, { headers: unchanged })).status).toBe(304);
  });

  test('has the path of PUBLIC_URL', async () => {
    const { get } = await servePages({ PUBLIC_URL: 'http://localhost:3000/profiles' });
    expect((await get('/developers')).body).toMatch(
      /<link rel="stylesheet" href="\/profiles\/docs\/style\.css\?v=.{8}">/,
    );
  });
});

describe('refusals are pages, with the sentence and status that a program would get', () => {
  test('for a path that is unknown, has an extra slash or can’t be decoded', async () => {
    for (const path of ['/developers/', '/developers/nothing', '/developers/keys/%ff', '/developers//sessions']) {
      const answer = await fetchPage(server, path);
      expect([path, answer.status, answer.refusal]).toEqual([path, 404, 'unknown_path']);
      expect(answer.body).toContain('<p>There is nothing at this path.</p>');
    }
    for (const path of ['/developersx', '/Developers', '/%64evelopers'])
      await expectRefusal(await get(server, path), 404);
  });

  test('for an unsupported method, with the methods that the path has', async () => {
    for (const path of new Set(PAGES.map(({ path }) => path))) {
      const has = PAGES.filter((route) => route.path === path).map(({ method }) => method);
      const allow = has.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
        if (has.includes(method as 'GET')) continue;
        const answer = await fetchPage(server, asPath(path), { method });
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
      }
    }
  });

  test('for a path that is too long', async () => {
    const answer = await fetchPage(server, `/developers/${'a'.repeat(8_200)}`);
    expect([answer.status, answer.refusal]).toEqual([414, 'uri_too_long']);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  test('for an internal error, without its cause, which is logged under the request id', async () => {
    const broken = testDeps();
    insertProfile(broken.db, ADA);
    const faulty = await serverOn({ ...broken, clock: testClock() });
    const cookie = signInOwner(broken, ADA.id);
    broken.db.$client.run('ALTER TABLE sign_ins RENAME TO gone');
    const answer = await fetchPage(faulty, '/developers', { headers: { cookie } });
    expect([answer.status, answer.refusal]).toEqual([500, 'internal']);
    expect(answer.body).toContain('The server failed to answer this request.');
    expect(answer.body).not.toMatch(/profiles\.db|SQL/);
    const requestId = answer.headers.get('x-request-id') as string;
    expect(faulty.log).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: 'A request failed.',
        requestId,
        cause: expect.stringContaining('sessions'),
      }),
    );
  });
});

test('the template of a path matches any text between its slashes, and no other path', async () => {
  const refusalOf = async (path: string) => (await world.post(path, {})).refusal;
  for (const id of ['x%20y', '%2F', '%23', '999']) {
    expect([id, await refusalOf(`/developers/sessions/${id}/end`)]).toEqual([id, 'signed_out']);
  }
  for (const path of ['sessions//end', 'sessions/x/end/', 'sessions/x', 'sessions/%zz/end', 'sessions/%ff/end'])
    expect([path, await refusalOf(`/developers/${path}`)]).toEqual([path, 'unknown_path']);
});

test('log and metrics have the template of a path, and nothing that was sent', async () => {
  const cookie = signInOwner(access, 7);
  await world.post('/developers/sessions/4711/end?secret=typed', {}, cookie);
  const line = server.log.findLast(({ method }) => method === 'POST');
  expect(line).toMatchObject({ route: '/developers/sessions/:id/end', status: 404, key: null });
  expect(JSON.stringify(server.log)).not.toMatch(/4711|typed|session=/);
  const metrics = await (await get(server, '/metrics', METRICS_TOKEN)).text();
  expect(metrics).toContain('http_requests_total{route="/developers/sessions/:id/end",status="404"}');
  expect(metrics).not.toContain('4711');
});

test('GET and HEAD write nothing except the last use of a session, once a minute, and not for another site', async () => {
  const cookie = signInOwner(access, 7);
  const { folder, db } = access;
  const lastUse = () => db.$client.query('SELECT max(last_used_at) FROM sign_ins').values();
  const changes = () => (db.$client.query('SELECT total_changes() AS n').get() as { n: number }).n;
  const look = async (method: string, headers: Record<string, string>) => {
    for (const path of pathsOf('GET')) await fetchPage(server, asPath(path), { method, headers });
    await settleBackground(world.server.service.background);
  };
  for (const [method, headers] of [
    ['GET', {}],
    ['GET', { cookie }],
    ['HEAD', { cookie }],
  ] as const) {
    const before = [changes(), readFileSync(join(folder, 'profiles.db')).toString('hex')];
    await look(method, headers);
    expect([changes(), readFileSync(join(folder, 'profiles.db')).toString('hex')]).toEqual(before);
  }
  const begunAtMs = world.clock.nowMs();
  world.clock.advance(60_000);
  for (const site of ['same-site', 'cross-site', 'same-origin']) {
    expect(lastUse()).toEqual([[begunAtMs]]);
    expect((await world.get('/developers/keys', cookie, { 'sec-fetch-site': site })).status).toBe(200);
    await settleBackground(world.server.service.background);
  }
  expect(lastUse()).toEqual([[world.clock.nowMs()]]);
  const before = changes();
  await look('GET', { cookie });
  expect(changes()).toBe(before);
});

test('a session is not accepted with plain HTTP on a public host name, or behind an unknown proxy', async () => {
  const unsafe = await servePages({ PUBLIC_URL: 'http://api.example.org', HOST: '127.0.0.1' });
  const status = async (at: ServedPages, headers = {}) =>
    (await at.get('/developers/sessions', signInOwner(at.access, 7), headers)).status;
  const forwarded = { 'X-Forwarded-For': '192.0.2.9' };
  expect([await status(unsafe), await status(world), await status(world, forwarded)]).toEqual([303, 200, 303]);
});

test('with HTTPS, signing out removes the cookie with the prefix', async () => {
  const { cookie, get, post } = await servePages({ PUBLIC_URL: 'https://api.example.org' });
  const { cookies } = await post('/developers/sign-out', {}, cookie);
  expect(cookies).toContain('__Host-session=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax');
  expect((await get('/developers/sessions', cookie)).status).toBe(303);
});

test('the message about a form’s effect is shown once, on the next page', async () => {
  const cookie = signInOwner(access, 7);
  const ended = await world.post('/developers/sign-out', {}, cookie);
  const next = await world.get('/developers', ended.cookie);
  expect(next.body).toContain('<p class="flash" role="status">You are signed out.</p>');
  expect(next.cookies).toEqual(['flash=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']);
  for (const forged of ['flash=constructor', 'flash=<b>', 'flash=']) {
    expect((await world.get('/developers', forged)).body).not.toContain('role="status"');
  }
});

test('only the latest sessions are listed if there are many, but all can be ended', async () => {
  const at = await servePages();
  for (let times = 0; times < MAX_LISTED + 20; times++) signInOwner(at.access, 7);
  const cookie = signInOwner(at.access, 7);
  const { body } = await at.get('/developers/sessions', cookie);
  expect([body.split(', signed in <time').length - 1, body.includes(`the latest ${MAX_LISTED}`)]).toEqual([200, true]);
  expect(body).toContain('This browser.');
  await at.post('/developers/sessions/end-all', {}, cookie);
  expect(countRows(at.access.db, 'sign_ins')).toBe(0);
});

test('sessions are listed by the usual names of browsers, without text that a browser sent', async () => {
  const { access, cookie, get } = await servePages();
  for (const agent of ['Mozilla/5.0 (X11; Linux x86_64) Chrome/139.0 Safari/537.36', '<b>Your bank</b>']) {
    signedIn(access, 7, { address: '192.0.2.9', agent });
  }
  const { body } = await get('/developers/sessions', cookie);
  for (const name of ['Chrome on Linux', 'A browser'])
    expect(body).toContain(`<strong>${name}</strong>, signed in <time`);
  expect(body).not.toMatch(/Mozilla|Your bank/);
});

test('DEVELOPER_PLATFORM=off makes the pages unknown paths', async () => {
  const off = await startTestServer({ variables: { DEVELOPER_PLATFORM: 'off' } });
  for (const path of ['/developers', '/developers/sign-in', '/manage', '/manage/v1/me']) {
    for (const method of ['GET', 'POST']) await expectRefusal(await get(off, path, null, { method }), 404);
  }
});
