import { expect, test } from 'bun:test';
import { inviteAdmin, removeAdmin } from '../../../shared/admins/admins.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { endAllSignIns } from '../../../shared/sign-in/end-all.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import {
  beginSignIn,
  endLoginByToken,
  endSignIn,
  listSignIns,
  MAX_LISTED,
  noteUse,
  readSignIn,
} from '../../../shared/sign-ins/sign-ins.ts';
import { newTokenText, readTokenText } from '../../../shared/sign-ins/token-text.ts';
import { onBox } from '../../support/actors.ts';
import { importLines } from '../../support/import.ts';
import { testAccess } from '../../support/portal/access.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { countSignInRows } from '../../support/portal/sessions-rows.ts';
import { notedRandom } from '../../support/secret-search.ts';
import { testClock } from '../../support/world.ts';

const HOUR_MS = 3_600_000;
const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };
const BOB = { id: 2, username: 'bob', email: 'bob@example.org' };

/** A service with two owners and an admin, each with a token, and an adjustable clock. */
async function world() {
  const clock = testClock();
  const access = testAccess({ clock, variables: { PUBLIC_URL: 'https://api.example.org' } });
  await importLines(access, [ADA, BOB]);
  const [ada, bob] = [ownerOf(access, 1), ownerOf(access, 2)];
  const grace: Signed = (await signIn(access, await enrol(access, 'Grace'))).signed;
  const begin = (signed: Signed, machine = 'laptop') => {
    const { token, signIn } = beginSignIn(access, signed, { machine, client: { address: '192.0.2.7' } });
    return { token, identifier: readTokenText(token)?.identifier ?? '', endsAtMs: signIn.endsAtMs };
  };
  const isAlive = ({ token }: { token: string }) => readSignIn(access, 'profilectl', token) !== null;
  return { access, clock, ada, bob, grace, begin, isAlive };
}

function ownerOf(access: Access, id: number): Signed {
  return ownerToSign(access, id) as Signed;
}

test('a token identifies its person and where it was issued; other strings identify nobody', async () => {
  const { access, ada, grace, begin } = await world();
  const [one, two] = [begin(ada, 'desk'), begin(grace)];
  expect(readTokenText(one.token)).toEqual({ prefix: 'plt', identifier: one.identifier });
  expect(readSignIn(access, 'profilectl', one.token)).toMatchObject({
    identifier: one.identifier,
    signed: { kind: 'owner', profileId: 1, generation: ada.generation },
    person: { kind: 'owner', name: 'owner', profileId: 1 },
    machine: 'desk',
    endsAtMs: one.endsAtMs,
  });
  const admin = { kind: 'admin', name: 'Grace', generation: grace.generation } as const;
  expect(readSignIn(access, 'profilectl', two.token)?.person).toEqual(admin);
  const stranger = newTokenText('plt', notedRandom).token;
  for (const wrong of ['', one.token.slice(1), one.token.replace('plt', 'plp'), `${one.token} `, stranger]) {
    expect(readSignIn(access, 'profilectl', wrong)).toBeNull();
  }
});

test('tokens of browsers and of profilectl are not interchangeable, and a logout with a browser’s token does not end its session', async () => {
  const { access, ada, begin } = await world();
  const browser = beginSignIn(access, ada, { client: { address: '192.0.2.7', agent: 'A browser' } }).token;
  const { token } = begin(ada);
  expect([readSignIn(access, 'profilectl', browser), readSignIn(access, 'browser', token)]).toEqual([null, null]);
  endLoginByToken(access, browser);
  expect(readSignIn(access, 'browser', browser)?.kind).toBe('browser');
  expect(listSignIns(access, ada, 'browser').map(({ kind }) => kind)).toEqual(['browser']);
  expect(listSignIns(access, ada, 'profilectl').map(({ kind }) => kind)).toEqual(['profilectl']);
});

test('both kinds of tokens have the form of a secret, with a checksum that includes the prefix', () => {
  for (const prefix of ['plp', 'plt'] as const) {
    const { token, identifier } = newTokenText(prefix, notedRandom);
    expect(token).toMatch(new RegExp(`^${prefix}_${identifier}_[0-9A-Za-z]{38}$`));
    expect(readTokenText(token)).toEqual({ prefix, identifier });
    for (const other of ['plk', 'plp', 'plt'].filter((one) => one !== prefix)) {
      expect(readTokenText(token.replace(prefix, other))).toBeNull();
    }
  }
});

test('an owner’s token expires after 30 days without use, and after 90 days in any case', async () => {
  const { access, clock, ada, begin, isAlive } = await world();
  const [unused, used] = [begin(ada), begin(ada)];
  expect(used.endsAtMs).toBe(clock.nowMs() + 90 * DAY_MS);
  for (let day = 1; day <= 90; day++) {
    clock.advance(DAY_MS - 1);
    const token = readSignIn(access, 'profilectl', used.token);
    expect(token).not.toBeNull();
    if (token !== null) noteUse(access, token);
    expect(isAlive(unused)).toBe(day <= 30);
    clock.advance(1);
  }
  expect(isAlive(used)).toBe(false);
});

test('an admin’s token expires after 12 hours, however much it is used', async () => {
  const { access, clock, grace, begin, isAlive } = await world();
  const one = begin(grace);
  expect(one.endsAtMs).toBe(clock.nowMs() + 12 * HOUR_MS);
  for (let hour = 1; hour <= 12; hour++) {
    clock.advance(HOUR_MS - 1);
    const token = readSignIn(access, 'profilectl', one.token);
    expect(token).not.toBeNull();
    if (token !== null) noteUse(access, token);
    clock.advance(1);
  }
  expect(isAlive(one)).toBe(false);
});

test('the last use is written at most once a minute', async () => {
  const { access, clock, ada, begin } = await world();
  const { token } = begin(ada);
  const changes = () => (access.sessions.sqlite.query('SELECT total_changes() AS n').get() as { n: number }).n;
  const before = changes();
  for (let second = 0; second < 300; second++) {
    clock.advance(1_000);
    const read = readSignIn(access, 'profilectl', token);
    if (read !== null) noteUse(access, read);
  }
  expect(changes() - before).toBe(5);
  expect(listSignIns(access, ada, 'profilectl')[0]?.lastUsedAtMs).toBe(clock.nowMs());
});

test('a token survives a new username and a ban', async () => {
  const { access, ada, begin, isAlive } = await world();
  const one = begin(ada);
  await importLines(access, [{ ...ADA, username: 'lovelace', banned: true }]);
  expect(isAlive(one)).toBe(true);
});

test('an admin’s tokens are invalid immediately after an invitation or a removal', async () => {
  const { access, grace, begin, isAlive } = await world();
  const first = begin(grace);
  inviteAdmin(access, 'Grace', { keepPasskeys: true }, onBox('root'));
  expect(isAlive(first)).toBe(false);
  const linus = begin((await signIn(access, await enrol(access, 'Linus'))).signed);
  expect(isAlive(linus)).toBe(true);
  removeAdmin(access, 'Linus', onBox('root'));
  expect(isAlive(linus)).toBe(false);
});

test('people can list and end only their own tokens, one or all', async () => {
  const { access, clock, ada, bob, begin, isAlive } = await world();
  const first = begin(ada, 'first');
  clock.advance(1_000);
  const [second, other] = [begin(ada, 'second'), begin(bob)];
  expect(listSignIns(access, ada, 'profilectl').map(({ machine }) => machine)).toEqual(['second', 'first']);
  expect(endSignIn(access, ada, other.identifier)).toBe(false);
  expect(endSignIn(access, ada, first.identifier)).toBe(true);
  expect(endSignIn(access, ada, first.identifier)).toBe(false);
  expect([first, second, other].map(isAlive)).toEqual([false, true, true]);
  expect(endAllSignIns(access, ada)).toEqual({ sessions: 0, logins: 1 });
  expect([second, other].map(isAlive)).toEqual([false, true]);
  expect(listSignIns(access, ada, 'profilectl').map(({ endedAtMs }) => endedAtMs)).toEqual([
    clock.nowMs(),
    clock.nowMs(),
  ]);
});

test('an ended token is listed for 30 days, and a valid one is listed however many have ended since', async () => {
  const { access, clock, ada, begin } = await world();
  const { identifier } = begin(ada);
  for (let count = 0; count < MAX_LISTED; count++) endSignIn(access, ada, begin(ada).identifier);
  expect(listSignIns(access, ada, 'profilectl')[0]).toMatchObject({ identifier, endedAtMs: null });
  endAllSignIns(access, ada);
  clock.advance(30 * DAY_MS - 1);
  expect(listSignIns(access, ada, 'profilectl')).toHaveLength(MAX_LISTED);
  clock.advance(1);
  expect(listSignIns(access, ada, 'profilectl')).toEqual([]);
  sweepSessions(access.db, clock, access.sessions);
  expect(countSignInRows(access.sessions, 'profilectl')).toBe(0);
});

test('a token stays ended after a logout, even if it was not valid at that moment', async () => {
  const { access, clock, ada, bob, begin, isAlive } = await world();
  const [early, moved, other] = [begin(ada), begin(bob), begin(ada)];
  clock.advance(-HOUR_MS);
  endLoginByToken(access, early.token);
  clock.advance(HOUR_MS);
  await importLines(access, [{ ...BOB, email: 'new@example.org' }]);
  endLoginByToken(access, moved.token);
  await importLines(access, [BOB]);
  // The identifier is not secret: it can't end a login.
  for (const wrong of [other.identifier, `${other.token.slice(0, -1)}~`, newTokenText('plt', notedRandom).token, '']) {
    endLoginByToken(access, wrong);
  }
  expect([early, moved, other].map(isAlive)).toEqual([false, false, true]);
});
