import { expect, test } from 'bun:test';
import { ownerWorld, valuesOf, visit } from '../../../support/pages.ts';
import { countSignInRows } from '../../../support/people.ts';
import { PAGES } from '../../../support/requests.ts';

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

const world = await ownerWorld({ PUBLIC_URL });
const { cookie } = world;

/** The code of the refusal of an empty form with these headers; null if it is accepted. */
async function codeOf(path: string, headers: Record<string, string>): Promise<string | null> {
  const answer = await visit(world, path.replace(/:\w+/g, '999'), {
    method: 'POST',
    body: '',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
  return answer.refusal;
}

test('a form is refused unless it comes from this exact origin, signed in or not', async () => {
  const path = '/developers/sign-out';
  const before = countSignInRows(world.access.db);
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
  expect(countSignInRows(world.access.db)).toEqual(before);
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
  const answer = await visit(world, '/developers/sign-out', {
    method: 'POST',
    body: 'name=sent-elsewhere',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-site', cookie },
  });
  expect([answer.status, valuesOf(answer, 'X-Error-Code')]).toEqual([403, ['cross_site']]);
  expect(answer.body).not.toContain('<form method="post" action="/lookup/developers/sign-out"><button>Send again');
  expect(answer.body).not.toContain('sent-elsewhere');
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
