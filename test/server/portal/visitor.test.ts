import { describe, expect, test } from 'bun:test';
import { addAdmin } from '../../../shared/admins.ts';
import { revokeLeakedKeys } from '../../../shared/keys/life.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { issue } from '../../support/keys.ts';
import { ADA, type Answer, type ServedPages, servePages, signInOwner } from '../../support/pages.ts';
import { countRows, secretOf, ticketFor } from '../../support/people.ts';
import { onBox } from '../../support/world.ts';
import { pageRecorder } from './readable.ts';

// What everybody sees: the start page, the ways in, one's sessions, and refusals; and what becomes of a found secret.

const record = pageRecorder(import.meta.path);

test('the start page and the ways in', async () => {
  const world = await servePages({ CONTACT: 'help@example.org' });
  const { get, post, press, cookie, access, lastCode } = world;
  record('start', await get('/developers'), 'body');
  record('start, for an owner', await get('/developers', cookie), 'body');
  const signIn = await get('/developers/sign-in');
  record('sign-in', signIn);
  record('sign-in, for a page that was asked for', await get('/developers/sign-in?next=%2Fdevelopers%2Fsessions'));
  record('sign-in: refused', await press(signIn, 'Send me a code', { address: '"><b>x' }));
  const asked = await press(signIn, 'Send me a code', { name: 'ada', address: ADA.email });
  record('sign-in: sent', asked);
  const code = await get('/developers/sign-in/code', asked.cookie);
  record('code', code);
  record('code: wrong', await press(code, 'Sign in', { code: '0000-0000' }, asked.cookie));
  const entered = await press(code, 'Sign in', { code: lastCode() }, asked.cookie);
  record('code: right', entered);
  const ticket = `/developers/enter?ticket=${ticketFor(access, ADA.id)}`;
  record('hand-over', await get(ticket));
  record('hand-over: continued', await press(await get(ticket), 'Continue as ada'));
  record('hand-over: used', await get(ticket));
  record('sign-in of admins', await get('/developers/admin/sign-in'));
  record('enrolment', await get('/developers/enrol'));
  const { address } = addAdmin(access, 'Grace', onBox('root'));
  record('enrolment with a link', await post('/developers/enrol', { secret: secretOf(address) }));
  record('enrolment without', await post('/developers/enrol', { secret: 'a'.repeat(43) }));
});

test.each([
  ['MAIL_URL', { MAIL_URL: '' }, {}],
  ['PUBLIC_URL', { PUBLIC_URL: 'http://api.example.org' }, {}],
  ['TRUSTED_PROXIES', {}, { 'X-Forwarded-For': '192.0.2.9' }],
  ['PUBLIC_URL for passkeys', { PUBLIC_URL: 'http://127.0.0.1:3000' }, {}],
])('where nobody can sign in, pages say to set %s', async (variable, variables, headers) => {
  const { access, get, post } = await servePages(variables);
  const [first, door, form] = variable.endsWith('passkeys')
    ? (['/enrol', '/admin/sign-in', {}] as const)
    : (['', '/sign-in', { name: 'ada', address: ADA.email }] as const);
  for (const path of [first, door]) {
    record(`without ${variable}: ${path || 'start'}`, await get(`/developers${path}`, undefined, headers));
  }
  const refused = await post(`/developers${door}`, { ...form }, undefined, headers);
  expect(refused).toMatchObject({ status: 503, refusal: 'no_sign_in', cookies: [] });
  expect(countRows(access.db, "tickets WHERE kind = 'code'")).toBe(0);
});

const REMOVED = 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax';

test('one’s sessions, ended one by one or all, and no others', async () => {
  const { get, press, access, cookie, clock } = await servePages();
  clock.advance(60_000);
  const [other, beas] = [signInOwner(access, 7), signInOwner(access, 8)];
  clock.advance(60_000);
  const sessions = await get('/developers/sessions', cookie);
  record('sessions', sessions);
  const isIn = async (one: string) => (await get('/developers/sessions', one)).status === 200;
  const ended = await press(sessions, 'End the session from 2026-01-01 00:01 UTC', {}, cookie);
  record('sessions: one ended', ended);
  expect(ended.cookies).toEqual([expect.stringMatching(/^flash=/)]);
  expect([await isIn(cookie), await isIn(other), await isIn(beas)]).toEqual([true, false, true]);
  // A form for another's session finds none.
  expect(
    (await press(await get('/developers/sessions', beas), 'End the session from 2026-01-01 00:01 UTC', {}, cookie))
      .status,
  ).toBe(404);
  expect(await isIn(beas)).toBe(true);
  record(
    'sessions: signed out everywhere',
    await press(await get('/developers/sessions', cookie), 'Sign out everywhere, including this browser', {}, cookie),
  );
  expect([await isIn(cookie), await isIn(beas)]).toEqual([false, true]);
  const end = 'End the session from 2026-01-01 00:01 UTC';
  const left = await press(await get('/developers/sessions', beas), end, {}, beas);
  expect([left.location, left.cookies]).toEqual(['/developers', expect.arrayContaining([REMOVED])]);
  expect(await isIn(beas)).toBe(false);
});

test('refusals are pages', async () => {
  const { get, post, cookie, server } = await servePages();
  record('unknown path', await get('/developers/nothing'));
  record('unknown key', await get('/developers/keys/zzzzzzzz', cookie));
  record('page of admins', await get('/developers/admin', cookie));
  record('form from another site', await post('/developers/sign-out', {}, cookie, { 'Sec-Fetch-Site': 'cross-site' }));
  record('bad parameter', await get('/developers/sign-in?next=%ff'));
  const { status } = await fetch(`${server.url}/developers/sign-in`, { method: 'PUT' });
  expect(status).toBe(405);
});

describe('a found secret', () => {
  const give = ({ post }: ServedPages, secret: string, address = '192.0.2.9') =>
    post('/developers/found', { secret }, undefined, { 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' });
  const behindProxy = () => servePages({ TRUSTED_PROXIES: '127.0.0.1' });

  test('revokes its key at once, without signing in, and every text gets the same response', async () => {
    const world = await behindProxy();
    const { identifier, secret } = await issue(world.access, { profile: 'ada' });
    record('found', await world.get('/developers/found'));
    const texts = [secret, secret, `${secret.slice(0, -1)}0`, 'plk_', '<b>', '😀'.repeat(5_000)];
    const answers: Answer[] = [];
    for (const text of texts) answers.push(await give(world, text));
    const [first, ...others] = answers.map(({ status, location, cookies, body }) => ({
      status,
      location,
      cookies,
      body,
    }));
    for (const other of others) expect(other).toEqual(first as typeof other);
    record('found: thanks', await world.get('/developers/found', answers[0]?.cookie));
    record('found: nothing was pasted', await give(world, ' \r\n '));
    expect(showKey(world.access, identifier).state).toBe('revoked');
    expect(revokeLeakedKeys(world.access, secret)).toBeUndefined();
  });

  test('is refused after 30 texts within a minute from one IP address, whether they contain secrets or not', async () => {
    const world = await behindProxy();
    const { identifier, secret } = await issue(world.access, { profile: 'ada' });
    for (let n = 0; n < 30; n++) expect((await give(world, `text ${n}`)).status).toBe(303);
    const answer = await give(world, secret);
    record('found: too many texts', answer);
    expect([answer.headers.has('retry-after'), answer.body.includes(secret)]).toEqual([true, false]);
    expect(showKey(world.access, identifier).state).toBe('Active');
    expect((await give(world, 'text', '2001:db8::1')).status).toBe(303);
    world.clock.advance(61_000);
    expect((await give(world, secret)).status).toBe(303);
    expect(showKey(world.access, identifier).state).toBe('revoked');
  });
});
