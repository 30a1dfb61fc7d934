import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import {
  browserName,
  countSignIns,
  endAllSignIns,
  endSignIn,
  listSignIns,
  noteUse,
  PERIODS,
  readSignIn,
  sweepSignIns,
} from '../../../shared/sign-in/sessions.ts';
import { CLIENT, countRows, signedIn } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };
const BOB = { id: 2, username: 'bob', email: 'bob@example.org' };

/** A service with two profiles and an adjustable clock. */
async function world() {
  const clock = testClock();
  const access = testDeps({ clock });
  await importLines(access, [ADA, BOB]);
  return { access, clock, signIn: (id = 1) => signedIn(access, id) };
}

test('a session is found only by its token, and identifies its person', async () => {
  const { access, signIn } = await world();
  const one = signIn();
  const two = signIn(2);
  expect(one).toMatch(/^[\w-]{43}$/);
  const session = readSignIn(access, one);
  const person = { kind: 'owner', name: 'owner', profileId: 1, signInId: session?.id };
  expect(session).toMatchObject({ person, name: 'ada', client: CLIENT });
  expect(readSignIn(access, two)).toMatchObject({ profileId: 2, name: 'bob' });
  for (const wrong of ['', one.slice(1), `${one} `, one.toLowerCase()]) expect(readSignIn(access, wrong)).toBeNull();
});

test('a session expires after a day without use, and after 7 days in any case', async () => {
  const { access, clock, signIn } = await world();
  const unused = signIn();
  const used = signIn();
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
  const { access, signIn } = await world();
  const tokens = [signIn(), signIn(), signIn(), signIn(2)];
  const [first = 0, second = 0, third = 0, others = 0] = tokens.map((token) => readSignIn(access, token)?.id);
  const ada = { profileId: 1, adminId: null };
  expect(listSignIns(access, ada).map(({ id }) => id)).toEqual([third, second, first]);
  expect(endSignIn(access, ada, others)).toBe(false);
  expect(endSignIn(access, ada, second)).toBe(true);
  expect(endSignIn(access, ada, second)).toBe(false);
  const alive = () => tokens.map((token) => readSignIn(access, token) !== null);
  expect(alive()).toEqual([true, false, true, true]);
  expect(endAllSignIns(access, ada)).toEqual(2);
  expect(alive()).toEqual([false, false, false, true]);
  expect(endAllSignIns(access, ada)).toEqual(0);
});

test('expired sessions are deleted, live ones are not', async () => {
  const { access, clock, signIn } = await world();
  signIn();
  clock.advance(DAY_MS - 1);
  const later = signIn(2);
  sweepSignIns(access);
  expect(countRows(access.db, 'sign_ins')).toBe(2);
  clock.advance(1);
  expect(countSignIns(access.db, clock.nowMs())).toBe(1);
  sweepSignIns(access);
  expect([countRows(access.db, 'sign_ins'), readSignIn(access, later)?.name]).toEqual([1, 'bob']);
});

test('rows of sign-ins and one-time secrets are found by an index, also when a profile, an admin or a token goes', () => {
  const { $client } = testDeps().db;
  const plan = (sql: string) =>
    ($client.query(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail).join('\n');
  for (const table of ['sign_ins', 'tickets']) {
    for (const column of ['profile_id', 'admin_id', 'opened_by']) {
      expect(plan(`DELETE FROM ${table} WHERE ${column} = 7`)).toMatch(/USING (COVERING )?INDEX/);
    }
    expect(plan(`DELETE FROM ${table} WHERE ${table === 'tickets' ? 'until' : 'idle_until'} <= 7`)).toMatch(
      /USING (COVERING )?INDEX/,
    );
  }
});

const MOZILLA = 'Mozilla/5.0';
const KHTML = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const IOS = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';

test('browsers have their common names', () => {
  const agents = {
    [`${MOZILLA} (X11; Linux x86_64) ${KHTML} Chrome/139.0.0.0 Safari/537.36`]: 'Chrome on Linux',
    [`${MOZILLA} (X11; Linux x86_64) ${KHTML} HeadlessChrome/139.0.0.0 Safari/537.36`]: 'Chrome on Linux',
    [`${MOZILLA} (X11; CrOS x86_64 14541.0.0) ${KHTML} Chrome/139.0.0.0 Safari/537.36`]: 'Chrome on ChromeOS',
    [`${MOZILLA} (Linux; Android 10; K) ${KHTML} Chrome/139.0.0.0 Mobile Safari/537.36`]: 'Chrome on Android',
    [`${MOZILLA} (iPhone; CPU iPhone OS 18_6 like Mac OS X) ${IOS} CriOS/139.0.7258.76 Mobile/15E148 Safari/604.1`]:
      'Chrome on iPhone',
    [`${MOZILLA} (Windows NT 10.0; Win64; x64) ${KHTML} Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0`]:
      'Edge on Windows',
    [`${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${KHTML} Chrome/138.0.0.0 Safari/537.36 OPR/122.0.0.0`]:
      'Opera on macOS',
    [`${MOZILLA} (Linux; Android 10; K) ${KHTML} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`]:
      'Samsung Internet on Android',
    [`${MOZILLA} (X11; Ubuntu; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0`]: 'Firefox on Linux',
    [`${MOZILLA} (iPad; CPU OS 18_6 like Mac OS X) ${IOS} FxiOS/142.0 Mobile/15E148 Safari/605.1.15`]:
      'Firefox on iPad',
    [`${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${IOS} Version/18.6 Safari/605.1.15`]: 'Safari on macOS',
    [`${MOZILLA} (X11; Linux x86_64)`]: 'A browser on Linux',
    'curl/8.15.0': 'A browser',
    '': 'A browser',
  };
  for (const [agent, name] of Object.entries(agents)) expect([agent, browserName(agent)]).toEqual([agent, name]);
});

test('the name has none of the text that was sent', () => {
  const names = /^(A browser|Firefox|Chrome|Safari)( on (iPhone|Windows|Linux))?$/;
  for (const agent of [
    '<script>mark()</script> Chrome/1 Linux',
    'Chrome/\u202e Windows\u0000',
    'iPhone'.repeat(100_000),
  ])
    expect(browserName(agent)).toMatch(names);
});
