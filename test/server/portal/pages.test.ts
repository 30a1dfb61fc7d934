import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EMPTY_POLICY } from '../../../server/frame/frame.ts';
import { MAX_LISTED } from '../../../shared/sign-in/sessions.ts';
import { get, serverOn, startTestServer } from '../../support/http.ts';
import { fetchPage, ownerWorld, serverOfPages, signInOwner, valuesOf, visit } from '../../support/pages.ts';
import { countSignInRows, ownerOf, signedIn } from '../../support/people.ts';
import { expectRefusal, PAGES } from '../../support/requests.ts';

const METRICS_TOKEN = 'scraper.7Rk2mQ9bTzA~';
const POLICY =
  /^default-src 'none'; style-src 'self'; script-src( 'sha256-[\w+/]{43}=')+; (connect-src 'self'; )?img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/;

const world = await ownerWorld({ METRICS_TOKEN });
const server = await serverOfPages(world);

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
      for (const headers of [{}, { cookie: signInOwner(world.access, 7) }]) {
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
        const page = await answer.text();
        expect(page).not.toMatch(/<script(?! type="module">)|\sstyle=|\son\w+=|@import|url\(|\ssrc=/);
        expect([answer.status >= 400, page.includes('<title>Error: ')]).toEqual(Array(2).fill(answer.status >= 400));
      }
    }
    expect([redirected.GET > 0, redirected.POST > 0]).toEqual([true, true]);
  });

  test('to HEAD has the headers of GET without the page', async () => {
    const [head, whole] = [
      await fetchPage(server, '/developers', { method: 'HEAD' }),
      await fetchPage(server, '/developers'),
    ];
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-length', 'content-type', 'content-security-policy']) {
      expect(head.headers.get(name)).toBe(whole.headers.get(name));
    }
    expect(head.headers.get('date')).not.toBeNull();
  });
});

describe('the style sheet', () => {
  const linkOn = async (path: string) =>
    /<link rel="stylesheet" href="(.+)">/.exec(await (await fetchPage(server, path)).text())?.[1] ?? '';

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
    const prefixed = await serverOfPages(await ownerWorld({ PUBLIC_URL: 'http://localhost:3000/profiles' }));
    const page = await (await fetchPage(prefixed, '/developers')).text();
    expect(page).toMatch(/<link rel="stylesheet" href="\/profiles\/docs\/style\.css\?v=.{8}">/);
  });
});

describe('refusals are pages, with the sentence and status that a program would get', () => {
  test('for a path that is unknown, has an extra slash or can’t be decoded', async () => {
    for (const path of ['/developers/', '/developers/nothing', '/developers/keys/%ff', '/developers//sessions']) {
      const answer = await fetchPage(server, path);
      expect([path, answer.status, answer.headers.get('x-error-code')]).toEqual([path, 404, 'unknown_path']);
      expect(await answer.text()).toContain('<p>There is nothing at this path.</p>');
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
    expect([answer.status, answer.headers.get('x-error-code')]).toEqual([414, 'uri_too_long']);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  test('for an internal error, without its cause, which is logged under the request id', async () => {
    const { cookie, ...broken } = await ownerWorld();
    const faulty = await serverOn({ ...broken.access, clock: broken.clock });
    broken.access.db.$client.run('ALTER TABLE sign_ins RENAME TO gone');
    const answer = await fetchPage(faulty, '/developers', { headers: { cookie } });
    const page = await answer.text();
    expect([answer.status, answer.headers.get('x-error-code')]).toEqual([500, 'internal']);
    expect(page).toContain('The server failed to answer this request.');
    expect(page).not.toMatch(/profiles\.db|SQL/);
    const requestId = answer.headers.get('x-request-id') as string;
    expect(faulty.log).toContainEqual(
      expect.objectContaining({
        ...{ level: 'error', message: 'A request failed.', requestId },
        cause: expect.stringContaining('sessions'),
      }),
    );
  });
});

test('pages that require signing in redirect visitors to it, and forms say that they are signed out', async () => {
  for (const { method, path, who } of PAGES.filter((route) => route.who !== 'anyone')) {
    const at = asPath(path);
    const door = who === 'admin' ? '/developers/admin/sign-in' : '/developers/sign-in';
    const answer = await visit(world, at, method === 'POST' ? { form: {} } : {});
    if (method === 'GET')
      expect([answer.status, valuesOf(answer, 'location')]).toEqual([303, [`${door}?next=${encodeURIComponent(at)}`]]);
    else expect([answer.status, answer.refusal]).toEqual([403, 'signed_out']);
  }
});

test('the template of a path matches any text between its slashes, and no other path', async () => {
  const refusalOf = async (path: string) => (await visit(world, path, { form: {} })).refusal;
  for (const id of ['x%20y', '%2F', '%23', '999']) {
    expect([id, await refusalOf(`/developers/sessions/${id}/end`)]).toEqual([id, 'signed_out']);
  }
  for (const path of ['sessions//end', 'sessions/x/end/', 'sessions/x', 'sessions/%zz/end', 'sessions/%ff/end'])
    expect([path, await refusalOf(`/developers/${path}`)]).toEqual([path, 'unknown_path']);
});

test('log and metrics have the template of a path, and nothing that was sent', async () => {
  const cookie = signInOwner(world.access, 7);
  await fetchPage(server, '/developers/sessions/4711/end?secret=typed', {
    method: 'POST',
    body: '',
    headers: { cookie },
  });
  const line = server.log.findLast(({ method }) => method === 'POST');
  expect(line).toMatchObject({ route: '/developers/sessions/:id/end', status: 404, key: null });
  expect(JSON.stringify(server.log)).not.toMatch(/4711|typed|session=/);
  const metrics = await (await get(server, '/metrics', METRICS_TOKEN)).text();
  expect(metrics).toContain('http_requests_total{route="/developers/sessions/:id/end",status="404"}');
  expect(metrics).not.toContain('4711');
});

test('GET and HEAD write nothing except the last use of a session, once a minute, and not for another site', async () => {
  const cookie = signInOwner(world.access, 7);
  const { folder, db } = world.access;
  const lastUse = () => db.$client.query('SELECT max(last_used_at) FROM sign_ins').values();
  const changes = () => (db.$client.query('SELECT total_changes() AS n').get() as { n: number }).n;
  for (const sent of [{}, { cookie }, { method: 'HEAD', cookie }]) {
    const before = [changes(), readFileSync(join(folder, 'profiles.db')).toString('hex')];
    for (const path of pathsOf('GET')) await visit(world, asPath(path), sent);
    expect([changes(), readFileSync(join(folder, 'profiles.db')).toString('hex')]).toEqual(before);
  }
  const begunAtMs = world.clock.nowMs();
  world.clock.advance(60_000);
  for (const site of ['same-site', 'cross-site', 'same-origin']) {
    expect(lastUse()).toEqual([[begunAtMs]]);
    const page = await visit(world, '/developers/keys', { cookie, headers: { 'sec-fetch-site': site } });
    expect(page.status).toBe(200);
  }
  expect(lastUse()).toEqual([[world.clock.nowMs()]]);
  const before = changes();
  for (const path of pathsOf('GET')) await visit(world, asPath(path), { cookie });
  expect(changes()).toBe(before);
});

test('a session is not accepted with plain HTTP on a public host name, or behind an unknown proxy', async () => {
  const unsafe = await ownerWorld({ PUBLIC_URL: 'http://api.example.org', HOST: '127.0.0.1' });
  const status = async (at: typeof world, sent: object = {}) =>
    (await visit(at, '/developers/sessions', { cookie: signInOwner(at.access, 7), ...sent })).status;
  expect([await status(unsafe), await status(world), await status(world, { isBehindUnknownProxy: true })]).toEqual([
    303, 200, 303,
  ]);
  const answer = await fetchPage(server, '/developers', { headers: { 'X-Forwarded-For': '192.0.2.9' } });
  expect(await answer.text()).toContain('set TRUSTED_PROXIES to its IP address');
});

test('with HTTPS, signing out removes the cookie with the prefix', async () => {
  const { cookie, ...secure } = await ownerWorld({ PUBLIC_URL: 'https://api.example.org' });
  const out = await visit(secure, '/developers/sign-out', { form: {}, cookie });
  expect(valuesOf(out, 'set-cookie')).toContain('__Host-session=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax');
  expect((await visit(secure, '/developers/sessions', { cookie })).status).toBe(303);
});

test('the message about a form’s effect is shown once, on the next page', async () => {
  const cookie = signInOwner(world.access, 7);
  const out = await visit(world, '/developers/sign-out', { form: {}, cookie });
  const flash = valuesOf(out, 'set-cookie').find((value) => value.startsWith('flash=')) as string;
  const next = await visit(world, '/developers', { cookie: flash.split(';')[0] as string });
  expect(next.body).toContain('<p class="flash" role="status">You are signed out.</p>');
  expect(valuesOf(next, 'set-cookie')).toEqual(['flash=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']);
  for (const forged of ['flash=constructor', 'flash=<b>', 'flash=']) {
    expect((await visit(world, '/developers', { cookie: forged })).body).not.toContain('role="status"');
  }
});

test('only the latest sessions are listed if there are many, but all can be ended', async () => {
  const at = await ownerWorld();
  for (let times = 0; times < MAX_LISTED + 20; times++) signInOwner(at.access, 7);
  const cookie = signInOwner(at.access, 7);
  const { body } = await visit(at, '/developers/sessions', { cookie });
  expect([body.split(', signed in <time').length - 1, body.includes(`the latest ${MAX_LISTED}`)]).toEqual([200, true]);
  expect(body).toContain('This browser.');
  await visit(at, '/developers/sessions/end-all', { form: {}, cookie });
  expect(countSignInRows(at.access.db)).toBe(0);
});

test('ending another session leaves this one, and ending this one signs out', async () => {
  const at = await ownerWorld();
  const [other, cookie] = [signInOwner(at.access, 7), signInOwner(at.access, 7)];
  const statusWith = async (one: string) => (await visit(at, '/developers/sessions', { cookie: one })).status;
  const end = async (isThis: boolean) => {
    const { body } = await visit(at, '/developers/sessions', { cookie });
    const row = body.split('<li ').find((one) => one.includes('/end"') && one.includes('This browser.') === isThis);
    const [, action = ''] = /action="([^"]+)"/.exec(row ?? '') ?? [];
    const answer = await visit(at, action, { form: {}, cookie });
    const hasCookieRemoved = valuesOf(answer, 'set-cookie').some((value) => /^session=;.*Max-Age=0/.test(value));
    return [...valuesOf(answer, 'location'), hasCookieRemoved];
  };
  expect(await end(false)).toEqual(['/developers/sessions', false]);
  expect([await statusWith(other), await statusWith(cookie)]).toEqual([303, 200]);
  expect(await end(true)).toEqual(['/developers', true]);
  expect(await statusWith(cookie)).toBe(303);
});

test('sessions are listed by the usual names of browsers, without text that a browser sent', async () => {
  const at = await ownerWorld();
  for (const agent of ['Mozilla/5.0 (X11; Linux x86_64) Chrome/139.0 Safari/537.36', '<b>Your bank</b>']) {
    signedIn(at.access, ownerOf(7), { address: '192.0.2.9', agent });
  }
  const { body } = await visit(at, '/developers/sessions', { cookie: signInOwner(at.access, 7) });
  for (const name of ['Chrome on Linux', 'A browser'])
    expect(body).toContain(`<strong>${name}</strong>, signed in <time`);
  expect(body).not.toMatch(/Mozilla|Your bank/);
});

test('DEVELOPER_PLATFORM=off makes the pages unknown paths', async () => {
  const off = await startTestServer({ variables: { DEVELOPER_PLATFORM: 'off' } });
  for (const path of ['/developers', '/developers/sign-in', '/manage']) {
    for (const method of ['GET', 'POST']) await expectRefusal(await get(off, path, null, { method }), 404);
  }
});
