import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import type { Binding, Signed } from '../../../shared/sessions-file/whose.ts';
import { endAllSignIns } from '../../../shared/sign-in/end-all.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { isKnownBrowser } from '../../../shared/sign-in/known-browsers.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { ownerToSign, readBinding } from '../../../shared/sign-ins/binding.ts';
import { PERIODS } from '../../../shared/sign-ins/periods.ts';
import {
  beginSignIn,
  countSignIns,
  endSignIn,
  listSignIns,
  MAX_LISTED,
  noteUse,
  readSignIn,
} from '../../../shared/sign-ins/sign-ins.ts';
import { importLines } from '../../support/import.ts';
import { testAccess, ticketFor } from '../../support/portal/access.ts';
import { countSignInRows } from '../../support/portal/sessions-rows.ts';
import { testClock } from '../../support/world.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const CLIENT = { address: '192.0.2.7', agent: 'A browser' };
const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };
const BOB = { id: 2, username: 'bob', email: 'bob@example.org' };

/** A service with two profiles and an adjustable clock. */
async function world() {
  const clock = testClock();
  const access = testAccess({ clock });
  await importLines(access, [ADA, BOB]);
  return { access, clock, signIn: (id = 1) => beginSignIn(access, signed(access, id), CLIENT) };
}

function signed(access: Access, id: number): Signed {
  return ownerToSign(access, id) as Signed;
}

test('a session is found only by its token, and identifies its person', async () => {
  const { access, signIn } = await world();
  const one = signIn();
  const two = signIn(2);
  expect(one.token).toMatch(/^[\w-]{43}$/);
  expect(readSignIn(access, one.token)?.person).toMatchObject({
    kind: 'owner',
    name: 'owner',
    profileId: 1,
  });
  expect(readSignIn(access, two.token)?.person).toMatchObject({ profileId: 2 });
  expect(readSignIn(access, one.token)?.client).toEqual(CLIENT);
  for (const wrong of ['', one.token.slice(1), `${one.token} `, one.token.toLowerCase()]) {
    expect(readSignIn(access, wrong)).toBeNull();
  }
});

test('a session expires after a day without use, and after 7 days in any case', async () => {
  const { access, clock, signIn } = await world();
  const unused = signIn().token;
  const used = signIn().token;
  for (let hours = 1; hours <= 7 * 24; hours++) {
    clock.advance(HOUR_MS - 1);
    const session = readSignIn(access, used);
    expect(session).not.toBeNull();
    if (session !== null) noteUse(access, session);
    expect(readSignIn(access, unused) === null).toBe(hours > 24);
    clock.advance(1);
  }
  expect(readSignIn(access, used)).toBeNull();
  expect(PERIODS.admin).toEqual({ idleMs: 30 * MINUTE_MS, maxMs: 12 * HOUR_MS });
});

test('people can list and end only their own sessions, one or all', async () => {
  const { access, clock, signIn } = await world();
  const [first, second, third, others] = [signIn(), signIn(), signIn(), signIn(2)];
  const ada = signed(access, 1);
  expect(listSignIns(access, ada).map(({ id }) => id)).toEqual([third, second, first].map(({ signIn }) => signIn.id));
  expect(endSignIn(access, ada, others.signIn.id)).toBe(false);
  clock.advance(MINUTE_MS);
  expect(endSignIn(access, ada, second.signIn.id)).toBe(true);
  expect(endSignIn(access, ada, second.signIn.id)).toBe(false);
  const alive = () => [first, second, third, others].map(({ token }) => readSignIn(access, token) !== null);
  expect(alive()).toEqual([true, false, true, true]);
  expect(listSignIns(access, ada).map(({ endedAtMs }) => endedAtMs !== null)).toEqual([false, false, true]);
  expect(endAllSignIns(access, ada)).toEqual(2);
  expect(alive()).toEqual([false, false, false, true]);
  expect(endAllSignIns(access, ada)).toEqual(0);
});

test('ending everything forgets the browsers that the owner has used, except the one that requests it', async () => {
  const { access } = await world();
  const nowMs = access.clock.nowMs();
  const enter = (uid: number) => enterHandOver(access, ticketFor(access, uid), null, CLIENT).knownBrowser;
  const [mine, others, bobs] = [enter(1), enter(1), enter(2)];
  const isKnown = (cookie: string, id: number) =>
    isKnownBrowser(access.sessions.db, cookie, readBinding(access.db, id) as Binding, nowMs);
  endAllSignIns(access, signed(access, 1), mine);
  expect([isKnown(mine, 1), isKnown(others, 1), isKnown(bobs, 2)]).toEqual([true, false, true]);
  endAllSignIns(access, signed(access, 1));
  expect([isKnown(mine, 1), isKnown(bobs, 2)]).toEqual([false, true]);
});

test('with 10 000 sessions each is found by its own token, one person’s can be ended without the others, and ended ones are deleted', async () => {
  const { access, clock, signIn } = await world();
  const { sqlite } = access.sessions;
  const mine = signIn();
  const [bobs, owner] = [signIn(2), signed(access, 1)];
  const more = sqlite.query(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
       INSERT INTO sign_ins (token_hash, profile_id, address_hash, generation, started_at, last_used_at, idle_until,
         ends_at, client_address, client_agent)
       SELECT randomblob(32), profile_id, address_hash, generation, started_at, last_used_at, idle_until,
         ends_at, client_address, client_agent FROM n, sign_ins WHERE id = ?`,
  );
  for (const { signIn } of [mine, bobs]) more.run(signIn.id);
  const nowMs = clock.nowMs();
  expect(countSignIns(access.sessions, nowMs)).toBe(10_000);
  const last = signIn();
  for (const { token, signIn } of [mine, bobs, last]) expect(readSignIn(access, token)?.id).toBe(signIn.id);
  expect(listSignIns(access, owner)).toHaveLength(MAX_LISTED);
  expect(listSignIns(access, owner)[0]?.id).toBe(last.signIn.id);
  sweepSessions(access.db, clock, access.sessions);
  expect(endAllSignIns(access, owner)).toBe(5_001);
  expect([mine, last, bobs].map(({ token }) => readSignIn(access, token)?.id ?? null)).toEqual([
    null,
    null,
    bobs.signIn.id,
  ]);
  expect(countSignIns(access.sessions, nowMs)).toBe(5_000);
  clock.advance(30 * DAY_MS);
  sweepSessions(access.db, clock, access.sessions);
  expect(countSignInRows(sqlite)).toBe(5_000);
  clock.advance(DAY_MS);
  sweepSessions(access.db, clock, access.sessions);
  expect(countSignInRows(sqlite)).toBe(0);
});
