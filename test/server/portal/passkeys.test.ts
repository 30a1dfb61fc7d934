import { expect, test } from 'bun:test';
import { addAdmin, listAdmins } from '../../../shared/admins.ts';
import { type Authenticator, createAuthenticator } from '../../support/authenticator.ts';
import { type Answer, adminPages, passkeyOptionsOn, type ServedPages, servePages } from '../../support/pages.ts';
import { enrol, secretOf } from '../../support/people.ts';
import { onBox } from '../../support/world.ts';
import { pageRecorder } from './readable.ts';

// How admins register passkeys and sign in by them, on pages.

const record = pageRecorder(import.meta.path);
const ENROL = '/developers/enrol';
const SIGN_IN = '/developers/admin/sign-in';
const ADD = '/developers/admin/people/passkeys';
const PARTY = { id: 'localhost', origin: 'http://localhost:3000' };

/** What a page's form sends once this passkey was made for it. */
const made = (page: Answer, authenticator: Authenticator, name: string) => {
  const { challenge, user } = passkeyOptionsOn(page);
  return { name, credential: authenticator.register(challenge, user.handle) };
};

/** Signs in by a passkey, as its page asks. */
async function signInBy(
  { post }: ServedPages,
  authenticator: Authenticator,
  next = '',
  cookie?: string,
): Promise<Answer> {
  const page = await post(SIGN_IN, { next }, cookie);
  return post(SIGN_IN, { next, credential: authenticator.assert(passkeyOptionsOn(page).challenge) }, cookie);
}

test('a passkey is registered by the link of `admins add`, under a name, and works at once', async () => {
  const world = await servePages({ ADMIN_EMAIL: 'root@example.org' });
  const { access, post } = world;
  const secret = secretOf(addAdmin(access, 'Grace', onBox('root')).address);
  const asked = await post(ENROL, { secret });
  const authenticator = createAuthenticator(PARTY);
  const unnamed = await post(ENROL, { secret, ...made(asked, authenticator, ' ') });
  record('a passkey without a name', unnamed);
  expect(await post(ENROL, { secret, ...made(unnamed, authenticator, 'Blue key') })).toMatchObject({
    location: SIGN_IN,
  });
  const notices = access.db.$client.query("SELECT body FROM mails WHERE kind = 'new-passkey'").all();
  expect(JSON.stringify(notices)).toMatch(/Grace.*127\.0\.0\.1/);
  expect((await signInBy(world, authenticator)).location).toBe('/developers/admin');
  expect(listAdmins(access)[0]?.passkeys.map(({ name }) => name)).toEqual(['Blue key']);
});

test('a link that has expired, or a passkey for another origin, registers nothing, and no refusal has the secret', async () => {
  const { access, post, clock } = await servePages();
  const secret = secretOf(addAdmin(access, 'Grace', onBox('root')).address);
  const foreign = createAuthenticator({ ...PARTY, origin: 'http://evil.example' });
  const refused = await post(ENROL, { secret, ...made(await post(ENROL, { secret }), foreign, 'Mine') });
  record('a passkey for another origin', refused);
  clock.advance(15 * 60_000);
  const late = await post(ENROL, { secret });
  expect([late.status, late.refusal, late.body.includes(secret)]).toEqual([403, 'forbidden', false]);
  expect(listAdmins(access)[0]?.passkeys).toEqual([]);
});

test('signing in leads to the requested page, in a new session, ends the previous one, and never leads elsewhere', async () => {
  const world = await adminPages();
  const { get, grace } = world;
  record('sign-in for a page that was asked for', await get(`${SIGN_IN}?next=%2Fdevelopers%2Fadmin%2Flog`));
  const answer = await signInBy(world, grace.authenticator, '/developers/admin/log', grace.cookie);
  expect([answer.status, answer.location]).toEqual([303, '/developers/admin/log']);
  expect(
    answer.cookies.some((one) => /^session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/.test(one)),
  ).toBe(true);
  expect((await grace.see()).status).toBe(303);
  expect((await get('/developers/admin', answer.cookie)).status).toBe(200);
  expect((await signInBy(world, grace.authenticator, 'https://evil.example')).location).toBe('/developers/admin');
});

test('an admin signs in while strangers at the same IP address try again and again', async () => {
  const world = await adminPages();
  const { post, grace } = world;
  const page = await post(SIGN_IN, {}, grace.cookie);
  const tries: number[] = [];
  for (let time = 0; time < 100; time++) tries.push((await post(SIGN_IN, {})).status);
  expect([tries[0], tries.at(-1)]).toEqual([200, 429]);
  const credential = grace.authenticator.assert(passkeyOptionsOn(page).challenge);
  expect((await post(SIGN_IN, { credential }, grace.cookie)).status).toBe(303);
});

test('passkeys are added and removed within five minutes of signing in; removing one ends all sessions, and the last one stays', async () => {
  const world = await adminPages();
  const { access, clock, post, grace, signIn } = world;
  const hopper = await signIn('Hopper');
  await enrol(access, 'Curie');
  record('people', await grace.see('/people'));
  const second = createAuthenticator(PARTY);
  // A challenge is for one person.
  const stolen = made(await post(ADD, {}, grace.cookie), second, 'Second');
  expect(await post(ADD, stolen, hopper.cookie)).toMatchObject({ status: 403, refusal: 'forbidden' });
  const asked = await post(ADD, {}, grace.cookie);
  record('add a passkey', asked);
  const unnamed = await post(ADD, made(asked, second, ' '), grace.cookie);
  expect(unnamed.status).toBe(422);
  const added = await post(ADD, made(unnamed, second, 'Second <b>'), grace.cookie);
  expect([added.status, added.location]).toEqual([303, '/developers/admin/people']);
  const two = await grace.see('/people');
  record('people, with two passkeys', two);
  const remove = /action="([^"]+\/remove)"/.exec(two.body)?.[1] ?? '';
  record('remove a passkey', await post(remove, {}, grace.cookie));
  expect((await post(remove, { sure: 'yes' }, hopper.cookie)).status).toBe(404);
  clock.advance(5 * 60_000);
  record('people, five minutes later', await grace.see('/people'));
  for (const [path, form] of [
    [remove, { sure: 'yes' }],
    [ADD, {}],
  ] as const) {
    expect(await post(path, { ...form }, grace.cookie)).toMatchObject({ status: 403, refusal: 'forbidden' });
  }
  expect(listAdmins(access)[0]?.passkeys).toHaveLength(2);
  const fresh = (await signInBy(world, grace.authenticator)).cookie;
  expect(await post(remove, { sure: 'yes' }, fresh)).toMatchObject({ status: 303, location: SIGN_IN });
  expect(listAdmins(access)[0]?.passkeys.map(({ name }) => name)).toEqual(['Second <b>']);
  expect([(await grace.see('/people')).status, (await world.get('/developers/admin', fresh)).status]).toEqual([
    303, 303,
  ]);
});
