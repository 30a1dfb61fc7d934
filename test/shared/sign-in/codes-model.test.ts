import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  closeSessionsFile,
  openSessionsFile,
  removeSessionsFile,
} from '../../../shared/sessions-file/sessions-file.ts';
import { enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { endAllSignIns } from '../../../shared/sign-in/end-all.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { endSignIn, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines } from '../../support/import.ts';
import { CLIENT, countingCodes, testAccess } from '../../support/portal/access.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock } from '../../support/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A profile in the model; `life` is a different number after each erasure. */
type Owner = { life: number; email: string };

/** A code in the model, in clear; `owner` is the profile when the code was requested, null if there was none. */
type ModelCode = { code: string; profile: number; owner: Owner | null; askedAt: number; tries: number };

type ModelSession = { token: string; profile: number; owner: Owner; startedAt: number; isEnded: boolean };

type Step =
  | { do: 'ask'; browser: number; profile: number; isRight: boolean }
  | { do: 'enter'; browser: number; codeOf: number | null }
  | { do: 'wait'; ms: number }
  | { do: 'move' | 'erase' | 'end one' | 'end all'; profile: number }
  | { do: 'restart' | 'sweep' };

const browser = fc.nat(2);
const profile = fc.integer({ min: 1, max: 2 });
const isRight = fc.constantFrom(true, true, true, false);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('ask' as const), browser, profile, isRight }) },
  { weight: 6, arbitrary: browser.map((at): Step => ({ do: 'enter', browser: at, codeOf: at })) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('enter' as const), browser, codeOf: fc.option(browser) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, MINUTE_MS, 4 * MINUTE_MS, 9 * HOUR_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('move' as const, 'erase', 'end one', 'end all'), profile }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'sweep') }) },
);

/** A real service and its model. */
function createRun(
  shared: ReturnType<typeof testAccess>,
  codes: ReturnType<typeof countingCodes>,
  clock: ReturnType<typeof testClock>,
) {
  let access = { ...shared };
  const owners = new Map<number, Owner>();
  const browsers: { secret: string | null; code: ModelCode | null }[] = [0, 1, 2].map(() => ({
    secret: null,
    code: null,
  }));
  const sessions: ModelSession[] = [];
  let lives = 0;
  const isSame = (of: number, owner: Owner | null) =>
    owner !== null && owners.get(of)?.life === owner.life && owners.get(of)?.email === owner.email;
  const put = async (id: number, email: string) => {
    await importLines(access, [{ id, username: `user${id}`, email }]);
    owners.set(id, { life: owners.get(id)?.life ?? ++lives, email });
  };
  const isAlive = (one: ModelSession, now: number) =>
    // Sessions are only looked up here, not used, so each is idle from its start.
    !one.isEnded && isSame(one.profile, one.owner) && now < one.startedAt + 24 * HOUR_MS;
  const steps = {
    ask: ({ browser: at, profile: of, isRight }: Extract<Step, { do: 'ask' }>) => {
      const mine = browsers[at] as (typeof browsers)[number];
      const owner = owners.get(of) ?? null;
      // The limits have their own test.
      access.sessions.sqlite.run('DELETE FROM mail_counts');
      const address = isRight && owner !== null ? owner.email : 'else@example.org';
      const { browserSecret } = requestCode(access, {
        name: `user${of}`,
        address,
        browserSecret: mine.secret,
        knownBrowser: null,
        client: CLIENT,
      });
      const bound = isRight ? owner : null;
      mine.secret = browserSecret;
      mine.code = { code: codes.lastCode(), profile: of, owner: bound, askedAt: clock.nowMs(), tries: 5 };
    },
    enter: ({ browser: at, codeOf }: Extract<Step, { do: 'enter' }>) => {
      const mine = browsers[at] as (typeof browsers)[number];
      const typed = (codeOf === null ? null : browsers[codeOf]?.code?.code) ?? 'ZZZZZZZZ';
      const held = mine.code;
      const isTaken =
        held !== null && held.tries > 0 && clock.nowMs() < held.askedAt + 10 * MINUTE_MS && held.code === typed;
      if (held !== null) held.tries -= 1;
      if (isTaken) held.tries = 0;
      const entered = enterCode(access, {
        browserSecret: mine.secret,
        knownBrowser: null,
        code: typed,
        client: CLIENT,
      });
      expect(entered.isSignedIn).toBe(isTaken && isSame(held.profile, held.owner));
      if (!entered.isSignedIn || held === null || held.owner === null) return;
      sessions.push({
        token: entered.token,
        profile: held.profile,
        owner: held.owner,
        startedAt: clock.nowMs(),
        isEnded: false,
      });
    },
    wait: ({ ms }: Extract<Step, { do: 'wait' }>) => clock.advance(ms),
    move: ({ profile: of }: { profile: number }) => put(of, `moved${++lives}@example.org`),
    erase: async ({ profile: of }: { profile: number }) => {
      eraseProfile(access, `user${of}`, onBox('operator'));
      const email = owners.get(of)?.email ?? '';
      owners.delete(of);
      await put(of, email);
    },
    'end one': ({ profile: of }: { profile: number }) => {
      const now = clock.nowMs();
      const one = sessions.findLast((session) => session.profile === of && isAlive(session, now));
      const owner = ownerToSign(access, of);
      const session = one === undefined ? null : readSignIn(access, one.token);
      if (one === undefined || owner === null || session === null) return;
      expect(endSignIn(access, owner, session.id)).toBe(true);
      one.isEnded = true;
    },
    'end all': ({ profile: of }: { profile: number }) => {
      const owner = ownerToSign(access, of);
      const alive = sessions.filter((session) => session.profile === of && isAlive(session, clock.nowMs()));
      if (owner !== null) expect(endAllSignIns(access, owner)).toBe(alive.length);
      for (const session of alive) session.isEnded = true;
      for (const { code } of browsers) if (code !== null && code.owner !== null && code.profile === of) code.tries = 0;
    },
    restart: () => {
      closeSessionsFile(access.sessions);
      access = { ...access, sessions: openSessionsFile(access.config.databasePath) };
    },
    sweep: () => sweepSessions(access.db, clock, access.sessions),
  };
  return {
    put,
    sessions,
    act: async (step: Step) => {
      await (steps[step.do] as (of: Step) => unknown)(step);
      for (const one of sessions) {
        expect(readSignIn(access, one.token)?.person.kind === 'owner').toBe(isAlive(one, clock.nowMs()));
      }
    },
    close: () => closeSessionsFile(access.sessions),
  };
}

test('a code works once, in one browser, for 5 tries and 10 minutes, and a session as long as its owner is the same (model)', async () => {
  const clock = testClock();
  const codes = countingCodes();
  const shared = testAccess({ clock, random: codes.random });
  closeSessionsFile(shared.sessions);
  let signIns = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60, size: 'max' }), async (steps) => {
      removeSessionsFile(shared.config.databasePath);
      const sessions = openSessionsFile(shared.config.databasePath);
      const run = createRun({ ...shared, sessions }, codes, clock);
      for (const id of [1, 2]) await run.put(id, `owner${id}@example.org`);
      try {
        for (const step of steps) await run.act(step);
        signIns += run.sessions.length;
      } finally {
        run.close();
      }
    }),
    { numRuns: rounds(30), interruptAfterTimeLimit: 40_000 },
  );
  // Otherwise the steps would not test these cases.
  expect(signIns).toBeGreaterThan(0);
}, 60_000);
