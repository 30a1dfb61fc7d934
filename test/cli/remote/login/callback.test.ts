import { afterEach, expect, test } from 'bun:test';
import { type Callback, listenForAnswer } from '../../../../cli/remote/login/callback.ts';

const STATE = 'the-state-of-this-login';
const open: Callback[] = [];

async function listening(): Promise<Callback> {
  const callback = await listenForAnswer(STATE);
  open.push(callback);
  return callback;
}

afterEach(() => {
  for (const callback of open.splice(0)) callback.close();
});

test('the listener uses a loopback port that the system assigns', async () => {
  const [one, other] = [await listening(), await listening()];
  for (const { redirectUri } of [one, other]) expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  expect(one.redirectUri).not.toBe(other.redirectUri);
});

test('the listener accepts a callback with the right state once, with a page that sends the person back to the terminal', async () => {
  const { redirectUri, answer } = await listening();
  const page = await fetch(`${redirectUri}?code=the-code&state=${STATE}&iss=https%3A%2F%2Fa.example.org`);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('Go back to the terminal');
  expect(await answer).toEqual({ code: 'the-code', error: null, issuer: 'https://a.example.org' });
  const again = await fetch(`${redirectUri}?code=another-code&state=${STATE}`);
  expect(again.status).toBe(404);
  expect((await answer).code).toBe('the-code');
});

test('the listener also accepts a refusal', async () => {
  const { redirectUri, answer } = await listening();
  await fetch(`${redirectUri}?error=access_denied&state=${STATE}&iss=https%3A%2F%2Fa.example.org`);
  expect(await answer).toEqual({ code: null, error: 'access_denied', issuer: 'https://a.example.org' });
});

test('the listener refuses other requests without repeating any part of them, and keeps waiting', async () => {
  const { redirectUri, answer } = await listening();
  const origin = new URL(redirectUri).origin;
  const right = `code=the-code&state=${STATE}`;
  const cases: [string, RequestInit, number][] = [
    [`${origin}/`, {}, 404],
    [`${origin}/favicon.ico`, {}, 404],
    [`${origin}/callback/?${right}`, {}, 404],
    [`${origin}/Callback?${right}`, {}, 404],
    [`${redirectUri}?${right}`, { method: 'POST' }, 404],
    [`${redirectUri}?${right}`, { method: 'HEAD' }, 404],
    [redirectUri, {}, 400],
    [`${redirectUri}?code=the-code`, {}, 400],
    [`${redirectUri}?code=%3Cscript%3E&state=other`, {}, 400],
    [`${redirectUri}?code=the-code&state=${STATE}x`, {}, 400],
    [`${redirectUri}?state=${STATE}`, {}, 400],
    [`${redirectUri}?${right}&error=access_denied`, {}, 400],
    [`${redirectUri}?${right}&code=another`, {}, 400],
    [`${redirectUri}?${right}&state=${STATE}`, {}, 400],
  ];
  for (const [address, init, status] of cases) {
    const page = await fetch(address, init);
    expect([address, init.method, page.status]).toEqual([address, init.method, status]);
    expect(page.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(await page.text()).not.toMatch(/script|the-code|the-state/);
  }
  await fetch(`${redirectUri}?${right}`);
  expect(await answer).toEqual({ code: 'the-code', error: null, issuer: null });
});

test('the listener stops when it is closed', async () => {
  const { redirectUri, close } = await listening();
  expect((await fetch(redirectUri)).status).toBe(400);
  close();
  await expect(fetch(redirectUri)).rejects.toThrow();
});
