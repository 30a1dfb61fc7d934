import { expect, test } from 'bun:test';
import { servePages } from '../../../support/pages.ts';
import { countRows } from '../../../support/people.ts';
import { PAGES } from '../../routes.ts';

// Forms from every kind of page that could send them. Over HTTPS, browsers always send Sec-Fetch-Site and Origin with a form.

const PUBLIC_URL = 'https://api.example.org/lookup';
const OWN = 'https://api.example.org';
const OTHERS = [
  'https://ada.api.example.org',
  'https://example.org',
  'http://api.example.org',
  'https://api.example.org:8443',
  'https://api.example.org.evil.example',
  'null',
  '',
  `${OWN}, ${OWN}`,
  `${OWN}/lookup`,
];

const { access, cookie, server } = await servePages({ PUBLIC_URL });

/** Sends a form with only these headers. */
function send(path: string, headers: Record<string, string>, body = '') {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  return fetch(server.url + path, { method: 'POST', body, headers: { ...type, ...headers }, redirect: 'manual' });
}

/** The code of the refusal of an empty form with these headers; null if it is accepted. */
async function codeOf(path: string, headers: Record<string, string>): Promise<string | null> {
  return (await send(path.replace(/:\w+/g, '999'), headers)).headers.get('x-error-code');
}

test('a form is refused unless it comes from this exact origin, signed in or not', async () => {
  const path = '/developers/sign-out';
  const before = countRows(access.db, 'sign_ins');
  for (const who of [{}, { cookie }]) {
    for (const site of ['same-site', 'cross-site', 'none', '', 'Same-Origin', 'same-origin, same-origin']) {
      for (const origin of [OWN, ...OTHERS]) {
        expect(await codeOf(path, { ...who, 'sec-fetch-site': site, origin })).toBe('cross_site');
      }
      expect(await codeOf(path, { ...who, 'sec-fetch-site': site })).toBe('cross_site');
    }
    for (const origin of OTHERS) expect(await codeOf(path, { ...who, origin })).toBe('cross_site');
    expect(await codeOf(path, who)).toBe('cross_site');
  }
  expect(countRows(access.db, 'sign_ins')).toEqual(before);
});

test('a form is accepted from this origin by either header', async () => {
  for (const headers of [
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'same-origin', origin: 'null' },
    { origin: OWN },
  ]) {
    expect(await codeOf('/developers/sign-out', headers)).toBeNull();
  }
});

test.each(PAGES.filter(({ method }) => method === 'POST'))('POST $path refuses other sites', async ({ path }) => {
  expect(await codeOf(path, { cookie, 'sec-fetch-site': 'same-site' })).toBe('cross_site');
});

test('a form from another site is not offered to be sent again', async () => {
  const headers = { 'sec-fetch-site': 'same-site', cookie };
  const answer = await send('/developers/sign-out', headers, 'name=sent-elsewhere');
  expect([answer.status, answer.headers.get('x-error-code')]).toEqual([403, 'cross_site']);
  const page = await answer.text();
  expect(page).not.toContain('<form method="post" action="/lookup/developers/sign-out"><button>Send again');
  expect(page).not.toContain('sent-elsewhere');
});

test('a form from another site is refused as such even if its path is unknown or has no forms', async () => {
  const foreign = { 'sec-fetch-site': 'same-site' };
  for (const path of [
    '/developers/nothing',
    '/developers/',
    '/developers/found/x',
    '/developers',
    '/developers/keys',
  ]) {
    expect([path, await codeOf(path, foreign)]).toEqual([path, 'cross_site']);
  }
  expect(await codeOf('/developers/nothing', { 'sec-fetch-site': 'same-origin' })).toBe('unknown_path');
  expect(await codeOf('/developers', { 'sec-fetch-site': 'same-origin' })).toBe('method_not_allowed');
});
