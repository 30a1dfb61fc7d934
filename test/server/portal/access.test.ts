import { expect, test } from 'bun:test';
import { findAdmin, removeAdmin } from '../../../shared/admins.ts';
import { faultOf } from '../../../shared/errors.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import { DESCRIPTION, issue, request } from '../../support/keys.ts';
import { ADA, type Answer, adminPages, BEA, type ServedPages, servePages, signInOwner } from '../../support/pages.ts';
import { importLines } from '../../support/profiles.ts';
import { onBox } from '../../support/world.ts';
import { PAGES, type PageRoute } from '../routes.ts';
import { storedIn } from './stored.ts';

// Who may use which page and form: each route, for each kind of person, about their own key, another's, and one that does not exist.

const UNKNOWN = 'zzzzzzzz';

/** The identifier with the case of each letter swapped, which must not find the key. */
const otherCase = (identifier: string) =>
  identifier.replace(/[A-Za-z]/g, (one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()));

/** What forms send that would do something if the person were allowed to. */
const FORMS: Record<string, Record<string, string>> = {
  '/developers/keys/new': { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup' },
  '/developers/keys/:identifier/rename': { name: 'Renamed' },
  '/developers/keys/:identifier/revoke': { reason: 'Leaked.' },
  '/developers/admin/keys/:identifier/decide': { operation: 'revoke', reason: 'Leaked.', shown: 'x', sure: 'yes' },
  '/developers/admin/decide': { approve: '' },
  '/developers/admin/people/passkeys/:id/remove': { sure: 'yes' },
};

const stored = ({ access: { db } }: ServedPages) =>
  storedIn(db, ['profiles', 'api_keys', 'key_attempts', 'events', 'admins', 'passkeys']);

const ask = ({ access, get, post }: ServedPages, route: PageRoute, about: string, cookie?: string) => {
  const path = route.path.replace(/:\w+/, about);
  if (route.method === 'GET') return get(path, cookie);
  const isOfOwner = route.path.startsWith('/developers/keys/:identifier');
  const isThere = faultOf(() => keyRevision(access.db, about)) === null;
  const shown = isOfOwner && { shown: isThere ? keyRevision(access.db, about) : 'none' };
  return post(path, { ...FORMS[route.path], ...shown }, cookie);
};

/** What a person can tell answers apart by, without what differs in every answer, and the identifier that they sent themselves. */
const seen = ({ status, refusal, location, cookies, body }: Answer, about: string) =>
  JSON.stringify({
    status,
    refusal,
    location,
    cookies,
    body: body.replace(/<dl.*<\/dl>|<textarea name="shown".*<\/textarea>/gs, ''),
  }).replaceAll(about, '…');

const world = await adminPages();
const { access } = world;
/** Keys of Ada and of Bea: Active and pending. */
const keyOf = async ({ username }: { username: string }) => [
  (await issue(access, { profile: username, name: 'Secret plan' })).identifier,
  await request(access, { profile: username, name: 'Secret plan' }),
];
const [own, others] = [await keyOf(ADA), await keyOf(BEA)];
const [active = '', pending = ''] = own;
const owner = world.cookie;
const admin = world.grace.cookie;
const abouts = [...own, ...others, UNKNOWN];

const isOfKey = ({ path }: PageRoute) => path.includes(':identifier');
const rows = PAGES.map((route) => [`${route.method} ${route.path}`, route] as const);

test.each(rows.filter(([, { who }]) => who !== 'anyone'))('%s: a visitor is led to the sign-in', async (_, route) => {
  const before = stored(world);
  for (const cookie of [undefined, 'session=x', `session=${'a'.repeat(43)}`]) {
    for (const about of [active, UNKNOWN]) {
      const answer = await ask(world, route, about, cookie);
      const door = `/developers/${route.who === 'admin' ? 'admin/' : ''}sign-in`;
      const next = encodeURIComponent(route.path.replace(/:\w+/, about));
      if (route.method === 'GET') expect(answer).toMatchObject({ status: 303, location: `${door}?next=${next}` });
      else expect(answer).toMatchObject({ status: 403, refusal: 'signed_out' });
    }
  }
  expect(stored(world)).toBe(before);
});

test.each(rows.filter(([, { who }]) => who === 'owner' || who === 'admin'))(
  '%s: the other kind of person is refused, whatever it is about',
  async (_, route) => {
    const before = stored(world);
    const [cookie, who, way] =
      route.who === 'owner'
        ? [admin, 'the admin <bdi>Grace', '/developers/admin']
        : [owner, 'the owner <bdi>ada', '/developers/keys'];
    const answers = await Promise.all(abouts.map((about) => ask(world, route, about, cookie)));
    expect(answers[0]).toMatchObject({ status: 403, refusal: 'forbidden' });
    expect(answers[0]?.body.includes(`you are signed in as ${who}</bdi>`)).toBe(true);
    expect(answers[0]?.body.includes(`href="${way}"`)).toBe(true);
    expect(new Set(answers.map((answer, at) => seen(answer, abouts[at] as string))).size).toBe(1);
    expect(stored(world)).toBe(before);
  },
);

test.each(rows.filter(([, route]) => route.who === 'owner' && isOfKey(route)))(
  '%s: another owner’s key is answered as an unknown one',
  async (_, route) => {
    const before = stored(world);
    const unknown = await ask(world, route, UNKNOWN, owner);
    expect(unknown).toMatchObject({ status: 404, refusal: 'not_found' });
    for (const about of [...others, ...others.map(otherCase), ...own.map(otherCase)]) {
      const answer = await ask(world, route, about, owner);
      if (others.includes(about)) expect(seen(answer, about)).toBe(seen(unknown, UNKNOWN));
      else expect(answer.status).toBe(404);
    }
    expect(stored(world)).toBe(before);
  },
);

test('a request that names another owner’s key as predecessor or model is answered as one that names an unknown key', async () => {
  const before = stored(world);
  const asked = async (about: string) => [
    await world.get(`/developers/keys/new?successor-of=${about}`, owner),
    await world.get(`/developers/keys/new?like=${about}`, owner),
    await world.post('/developers/keys/new', { ...FORMS['/developers/keys/new'], successorOf: about }, owner),
  ];
  const unknown = await asked(UNKNOWN);
  expect(unknown.map(({ status }) => status)).toEqual([404, 404, 404]);
  for (const about of others) {
    expect((await asked(about)).map((one) => seen(one, about))).toEqual(unknown.map((one) => seen(one, UNKNOWN)));
  }
  expect((await world.get('/developers/keys', owner)).body.includes(others[0] as string)).toBe(false);
  expect(stored(world)).toBe(before);
});

test.each(rows.filter(([, route]) => route.who === 'admin' && isOfKey(route)))(
  '%s: an admin may, for every profile’s key, and reads that an unknown one is unknown',
  async (_, route) => {
    for (const about of [...own, ...others]) expect((await ask(world, route, about, admin)).status).not.toBe(404);
    for (const about of [UNKNOWN, otherCase(pending)]) {
      expect(await ask(world, route, about, admin)).toMatchObject({ status: 404, refusal: 'not_found' });
    }
  },
);

test.each(rows.filter(([, { method, path }]) => method === 'GET' && !path.endsWith('/enter')))(
  '%s is shown to whom it is for',
  async (_, route) => {
    const cookies = { anyone: [undefined, owner, admin], 'signed in': [owner, admin], owner: [owner], admin: [admin] };
    for (const cookie of cookies[route.who]) {
      const answer = await ask(world, route, route.path.endsWith('withdraw') ? pending : active, cookie);
      expect([answer.status, answer.refusal]).toEqual([200, null]);
    }
  },
);

test('a head has the links for its visitor, and each leads to a page', async () => {
  for (const cookie of [undefined, owner, admin]) {
    const { body } = await world.get('/developers', cookie);
    const links = [...(/<nav.*?<\/nav>/s.exec(body)?.[0] ?? '').matchAll(/href="([^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    expect(links.length).toBeGreaterThan(1);
    for (const path of links) expect([path, (await world.get(path, cookie)).status]).toEqual([path, 200]);
  }
});

test('a new username changes nothing for its owner, and another profile with the old one sees none of the keys', async () => {
  const made = await servePages();
  const identifier = await request(made.access, { profile: 'ada' });
  await importLines(made.access, [
    { ...ADA, username: 'countess' },
    { ...BEA, username: 'ada' },
  ]);
  const path = `/developers/keys/${identifier}`;
  expect((await made.get(path, made.cookie)).status).toBe(200);
  expect((await made.get(path, signInOwner(made.access, BEA.id))).status).toBe(404);
});

test('access ends at the next request, of an owner whose address has changed and of an admin who was removed', async () => {
  const made = await servePages();
  const identifier = await request(made.access, { profile: 'ada' });
  const grace = (await made.signIn('Grace')).cookie;
  expect((await made.get('/developers/keys', made.cookie)).status).toBe(200);
  expect((await made.get('/developers/admin', grace)).status).toBe(200);
  await importLines(made.access, [{ ...ADA, email: 'other@example.org' }]);
  removeAdmin(made.access, findAdmin(made.access.db, 'Grace'), onBox('root'));
  const before = stored(made);
  for (const route of PAGES.filter(({ who }) => who === 'owner' || who === 'admin')) {
    const { status } = await ask(made, route, identifier, route.who === 'admin' ? grace : made.cookie);
    expect([route.path, status]).toEqual([route.path, route.method === 'POST' ? 403 : 303]);
  }
  expect(stored(made)).toBe(before);
});

test('signing in leads to the page that was asked for, with its parameters if they are plain', async () => {
  const door = '/developers/sign-in?next=%2Fdevelopers%2Fkeys%2Fnew';
  for (const [query, wanted] of [
    ['successor-of=k7Qm2XaB', '%3Fsuccessor-of%3Dk7Qm2XaB'],
    ['successor-of=', '%3Fsuccessor-of%3D'],
    ['successor-of=%2F%2Fevil%0d%0a', '%3Fsuccessor-of%3D%252F%252Fevil%250d%250a'],
    ['successor-of=//evil%0D%0A&other=b', ''],
    ['other', ''],
  ] as const) {
    expect((await world.get(`/developers/keys/new?${query}`)).location).toBe(`${door}${wanted}`);
  }
});
