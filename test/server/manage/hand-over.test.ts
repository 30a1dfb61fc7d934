import { expect, test } from 'bun:test';
import { settleBackground } from '../../../server/background.ts';
import { removeToken } from '../../../shared/tokens.ts';
import { type Answer, type ServedPages, servePages, signInOwner } from '../../support/pages.ts';
import { addBackend, ticketFor } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { onBox, refusal } from '../../support/world.ts';
import { expectRefused } from '../refusals.ts';

const ADA = { id: 7, username: 'ada', authId: 'auth0|ada', email: 'ada@example.org' };
const BEA = { id: 8, username: 'bea <b>', email: 'bea@example.org' };

async function handOverWorld() {
  const world = await servePages();
  await importLines(world.access, [ADA, BEA]);
  const token = addBackend(world.access, { rights: ['sign-ins'] }).token;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const ask = (body: object) =>
    fetch(`${world.server.url}/manage/v1/sign-ins`, { method: 'POST', headers, body: JSON.stringify(body) });
  const ticketFor = async (body: object = { uid: 7 }) => {
    const { address } = (await (await ask(body)).json()) as { address: string };
    return new URL(address).searchParams.get('ticket') as string;
  };
  return { ...world, ask, ticketFor };
}

const open = ({ get }: ServedPages, ticket: string, cookie?: string) =>
  get(`/developers/enter?ticket=${ticket}`, cookie);

/** Signs in by a ticket, and waits for the mail about it. */
async function enter({ post, server }: ServedPages, ticket: string, cookie?: string): Promise<Answer> {
  const headers = { 'User-Agent': 'profilectl on a machine of your bank, call +1 555 0100' };
  const answer = await post('/developers/enter', { ticket }, cookie, headers);
  await settleBackground(server.service.background);
  return answer;
}

test('a backend signs a user in by UID or auth ID: the page names the profile, loading it uses nothing up, a click signs in', async () => {
  const world = await handOverWorld();
  const answer = await world.ask({ authId: 'auth0|ada' });
  expect(await answer.json()).toEqual({
    address: expect.stringMatching(/^http:\/\/localhost:3000\/developers\/enter\?ticket=[\w-]{43}$/),
    expiresAt: '2026-01-01T00:01:00.000Z',
  });
  for (const body of [{ uid: 7 }, { authId: 'auth0|ada' }]) {
    const ticket = await world.ticketFor(body);
    for (const _look of [1, 2]) expect((await open(world, ticket)).body).toContain('Continue as ada');
    const entered = await enter(world, ticket);
    expect([entered.status, entered.location]).toEqual([303, expect.stringContaining('/developers')]);
    expect((await world.get('/developers/sessions', entered.cookie)).status).toBe(200);
    // The URL does not work a second time.
    for (const again of [await open(world, ticket), await enter(world, ticket)]) {
      expect([again.status, again.refusal]).toEqual([404, 'not_found']);
      expect(again.body).toContain('works once, for a minute');
    }
  }
});

test('a body that does not name one existing profile is refused', async () => {
  const { ask } = await handOverWorld();
  for (const body of [{ uid: 9 }, { authId: 'auth0|nobody' }]) await expectRefused(await ask(body), 404, 'not_found');
  const uids = ['7', 0, 1.5, 2 ** 53].map((uid) => ({ uid }));
  for (const body of [{}, { uid: 7, authId: 'auth0|ada' }, { uid: 7, authId: 0 }, ...uids, { authId: '' }]) {
    const sentence = await expectRefused(await ask(body), 400, 'bad_body');
    expect(sentence).toBe('Name the profile by uid (a whole number from 1) or by authId (a string), but not by both.');
  }
});

test('a URL that has expired, whose profile has changed, or that was never made leads to no page and signs nobody in', async () => {
  const world = await handOverWorld();
  const expired = await world.ticketFor();
  world.clock.advance(60_000);
  const changed = await world.ticketFor();
  await importLines(world.access, [{ ...ADA, email: 'other@example.org' }]);
  for (const ticket of [expired, changed, '', 'x'.repeat(43)]) {
    expect([await open(world, ticket), await enter(world, ticket)].map(({ status }) => status)).toEqual([404, 404]);
  }
});

test('another person signed in to the browser is warned first, and signed out; names are escaped', async () => {
  const world = await handOverWorld();
  const ada = signInOwner(world.access, 7);
  const same = await open(world, await world.ticketFor(), ada);
  expect(same.body).not.toContain('Somebody else is signed in');
  const ticket = await world.ticketFor({ uid: 8 });
  const page = await open(world, ticket, ada);
  expect(page.body).toContain('Somebody else is signed in');
  expect(page.body).toContain('Continue as bea &lt;b&gt;');
  expect((await enter(world, ticket, ada)).status).toBe(303);
  expect((await world.get('/developers/sessions', ada)).status).toBe(303);
});

test('the owner is told of sign-ins by hand-over, once a UTC day, without any text of the browser', async () => {
  const world = await handOverWorld();
  const notices = () =>
    world.access.db.$client.query("SELECT count(*) AS n FROM mails WHERE kind = 'new-sign-in'").get();
  for (const n of [1, 1]) {
    await enter(world, await world.ticketFor());
    expect(notices()).toEqual({ n });
  }
  const [body] = world.access.db.$client.query("SELECT body FROM mails WHERE kind = 'new-sign-in'").values().flat();
  expect(/From +(.*)\n +With +(.*)\n/.exec(`${body}`)?.slice(1)).toEqual(['127.0.0.1', 'A browser']);
  world.clock.advance(86_400_000);
  await enter(world, await world.ticketFor());
  expect(notices()).toEqual({ n: 2 });
  // Without an address it could only be listed as undelivered.
  await importLines(world.access, [{ ...BEA, email: null }]);
  expect((await enter(world, await world.ticketFor({ uid: BEA.id }))).status).toBe(303);
  expect(notices()).toEqual({ n: 2 });
});

test('removing a token ends the URLs and sessions that it created, and nothing else', async () => {
  const world = await handOverWorld();
  const { access } = world;
  const [rotated, kept] = [addBackend(access).identifier, addBackend(access).identifier];
  const begin = async (opener: string) => {
    const entered = await enter(world, ticketFor(access, 7, opener));
    const cookie = entered.cookie;
    return { cookie, ticket: ticketFor(access, 7, opener) };
  };
  const [one, other] = [await begin(rotated), await begin(kept)];
  const own = signInOwner(access, 7);
  const isIn = async (cookie?: string) => (await world.get('/developers/sessions', cookie)).status === 200;
  const isOpen = async (ticket: string) => (await open(world, ticket)).status === 200;
  const works = async () => [
    ...[await isIn(one.cookie), await isOpen(one.ticket)],
    ...[await isIn(other.cookie), await isOpen(other.ticket)],
    await isIn(own),
  ];
  expect(await works()).toEqual(Array(5).fill(true));
  expect(removeToken(access, rotated, onBox('root'))).toBe(1);
  expect(await works()).toEqual([false, false, true, true, true]);
  // The token of a request that was admitted before.
  expect((await refusal(() => ticketFor(access, 7, rotated))).code).toBe('invalid_token');
});
