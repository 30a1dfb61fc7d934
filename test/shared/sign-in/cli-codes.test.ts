import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { removeAdmin } from '../../../shared/admins/admins.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { hashOf } from '../../../shared/sessions-file/tokens.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { type CliConsent, exchangeCliCode, makeCliCode } from '../../../shared/sign-in/cli-codes.ts';
import { endAllSignIns } from '../../../shared/sign-in/end-all.ts';
import { storeSignInNotices } from '../../../shared/sign-in/sign-in-notices.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { listSignIns, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { MAX_LOGINS, PURPOSES } from '../../../shared/tickets/purposes.ts';
import { onBox } from '../../support/actors.ts';
import { importLines } from '../../support/import.ts';
import { CLIENT, testAccess } from '../../support/portal/access.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { countLogins, forgetLogins } from '../../support/portal/sessions-rows.ts';
import { refusal } from '../../support/refusal.ts';
import { rounds } from '../../support/rounds.ts';
import { noteSecretsIn } from '../../support/secret-search.ts';
import { testClock } from '../../support/world.ts';

const VERIFIERS = ['a', 'b'].map((letter) => letter.repeat(43));
const REDIRECTS = [null, 'http://127.0.0.1:4711/callback', 'http://[::1]:4711/callback'];

/** The index of the redirect URL of a typed code. */
const TYPED = 0;

const challengeOf = (verifier: string) => hashOf(verifier).toString('base64url');
const RIGHT = { redirectUri: null, verifier: VERIFIERS[0] as string };

async function world() {
  const clock = testClock();
  const access = testAccess({ clock, variables: { PUBLIC_URL: 'https://api.example.org' } });
  const put = (id: number, email: string) => importLines(access, [{ id, username: `user${id}`, email }]);
  for (const id of [1, 2]) await put(id, `owner${id}@example.org`);
  return { access, clock, put, ada: ownerToSign(access, 1) as Signed, bob: ownerToSign(access, 2) as Signed };
}

function make(access: Access, signed: Signed, consent: Partial<CliConsent> = {}): string {
  const codeChallenge = challengeOf(RIGHT.verifier);
  return makeCliCode(access, signed, { codeChallenge, redirectUri: null, machine: 'laptop', ...consent });
}

/** The token that a code is exchanged for, or null if the exchange is refused. */
function exchange(
  access: Access,
  code: string,
  changes: Partial<Omit<typeof RIGHT, 'redirectUri'> & { redirectUri: string | null }> = {},
) {
  try {
    const made = exchangeCliCode(access, { code, ...RIGHT, ...changes }, CLIENT);
    noteSecretsIn(made.token);
    return made.token;
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_grant' });
    return null;
  }
}

type Step =
  | { do: 'consent'; profile: number; redirect: number; verifier: number }
  | { do: 'exchange'; code: number; redirect: number | 'same'; verifier: number | 'same' }
  | { do: 'mistype'; code: number; times: number }
  | { do: 'wait'; ms: number }
  | { do: 'move' | 'end all'; profile: number };

const profile = fc.integer({ min: 1, max: 2 });
const redirect = fc.nat(2);
const verifier = fc.nat(1);
const same = fc.constant('same' as const);
/** The index of a code, counted from the newest; may exceed the number of open codes. */
const code = fc.constantFrom(0, 0, 1, 1, 2, 3, 6);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('consent' as const), profile, redirect, verifier }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('exchange' as const), code, redirect: same, verifier: same }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('exchange' as const), code, redirect, verifier }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('mistype' as const), code, times: fc.constantFrom(1, 3, 5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 60_000, 150_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('move' as const, 'end all'), profile }) },
);

/** A code in the model, and the token that it became. */
type Known = {
  code: string;
  profile: number;
  life: number;
  redirect: number;
  verifier: number;
  madeAt: number;
  triesLeft: number;
  token: string | null;
  isTokenOver: boolean;
  isDropped: boolean;
};

test('a code can be exchanged once, with its login’s secret and redirect URL, before it expires and within 5 tries; a second use ends the token (model)', async () => {
  const { access, clock, put } = await world();
  let tokens = 0;
  let reuses = 0;
  let spent = 0;
  const run = async (steps: readonly Step[]) => {
    forgetLogins(access.sessions);
    const known: Known[] = [];
    const lives = [0, 0, 0];
    const ofPerson = (one: Known, who: number) => one.profile === who && one.life === lives[who];
    const spendTry = (by: number) => {
      const waiting = known.filter((one) => one.redirect === TYPED && one.verifier === by && one.token === null);
      for (const one of waiting) one.triesLeft--;
      spent += waiting.some(({ triesLeft, isDropped }) => triesLeft === 0 && !isDropped) ? 1 : 0;
    };
    const acts = {
      consent: ({ profile: who, redirect: at, verifier: by }: Extract<Step, { do: 'consent' }>) => {
        // So that one code is the oldest.
        clock.advance(1);
        const codeChallenge = challengeOf(VERIFIERS[by] as string);
        const made = make(access, ownerToSign(access, who) as Signed, {
          codeChallenge,
          redirectUri: REDIRECTS[at] ?? null,
        });
        known.push({
          ...{ code: made, profile: who, life: lives[who] as number, redirect: at, verifier: by },
          ...{
            madeAt: clock.nowMs(),
            triesLeft: PURPOSES['sign-in code'].tries,
            token: null,
            isTokenOver: false,
            isDropped: false,
          },
        });
        const open = known.filter((one) => ofPerson(one, who) && one.token === null && !one.isDropped);
        for (const one of open.slice(0, -MAX_LOGINS.person)) one.isDropped = true;
      },
      exchange: ({ code: which, redirect: at, verifier: by }: Extract<Step, { do: 'exchange' }>) => {
        const one = known.at(-1 - which);
        if (one === undefined) return;
        const [place, secret] = [at === 'same' ? one.redirect : at, by === 'same' ? one.verifier : by];
        const isTyped = one.redirect === TYPED;
        const isRight = place === one.redirect && secret === one.verifier;
        const isInTime =
          clock.nowMs() <
          one.madeAt + (isTyped ? PURPOSES['sign-in code'].lifetimeMs : PURPOSES['login redirect'].lifetimeMs);
        const isOpen = one.token === null && !one.isDropped && ofPerson(one, one.profile) && one.triesLeft > 0;
        const token = exchange(access, one.code, {
          redirectUri: REDIRECTS[place] as null,
          verifier: VERIFIERS[secret] as string,
        });
        expect(token !== null).toBe(isRight && isInTime && isOpen);
        // A typed code is found by the login's secret, and a browser's code by itself.
        const isFound = isTyped ? isRight : place !== TYPED;
        if (isTyped && place === TYPED && token === null && !(isFound && one.token !== null)) spendTry(secret);
        if (one.token !== null && isFound) {
          one.isTokenOver = true;
          reuses++;
        } else if (token !== null) {
          one.token = token;
          tokens++;
        }
      },
      mistype: ({ code: which, times }: Extract<Step, { do: 'mistype' }>) => {
        const one = known.at(-1 - which);
        if (one?.redirect !== TYPED) return;
        const wrong = `${one.code.startsWith('7') ? '8' : '7'}${one.code.slice(1)}`;
        // Text that can't be a code does not count as a try.
        for (let time = 0; time < 5; time++) {
          expect(exchange(access, 'short', { verifier: VERIFIERS[one.verifier] as string })).toBeNull();
        }
        for (let time = 0; time < times; time++) {
          expect(exchange(access, wrong, { verifier: VERIFIERS[one.verifier] as string })).toBeNull();
          spendTry(one.verifier);
        }
      },
      wait: ({ ms }: Extract<Step, { do: 'wait' }>) => clock.advance(ms),
      move: async ({ profile: who }: { profile: number }) => {
        lives[who] = (lives[who] as number) + 1;
        await put(who, `moved${clock.nowMs()}.${lives[who]}.${known.length}@example.org`);
      },
      'end all': ({ profile: who }: { profile: number }) => {
        endAllSignIns(access, ownerToSign(access, who) as Signed);
        for (const one of known.filter((mine) => ofPerson(mine, who))) {
          if (one.token === null) one.isDropped = true;
          else one.isTokenOver = true;
        }
      },
    };
    for (const step of steps) {
      await (acts[step.do] as (of: Step) => unknown)(step);
      for (const one of known) {
        if (one.token === null) continue;
        const isAlive = !one.isTokenOver && ofPerson(one, one.profile);
        expect(readSignIn(access, 'profilectl', one.token) !== null).toBe(isAlive);
      }
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(STEP, { minLength: 20, maxLength: 40, size: 'max' }), run), {
    numRuns: rounds(120),
    interruptAfterTimeLimit: 40_000,
  });
  // Otherwise the steps would not test these cases.
  expect(tokens).toBeGreaterThan(rounds(20));
  expect(reuses).toBeGreaterThan(rounds(5));
  expect(spent).toBeGreaterThan(rounds(5));
}, 60_000);

test('a used code is remembered for a day: until then a second use ends its token', async () => {
  const { access, clock, ada } = await world();
  const redirectUri = REDIRECTS[1] as string;
  const [early, forgotten] = [make(access, ada, { redirectUri }), make(access, ada)];
  const tokens = [exchange(access, early, { redirectUri }), exchange(access, forgotten)] as string[];
  const isAlive = () => tokens.map((token) => readSignIn(access, 'profilectl', token) !== null);
  clock.advance(DAY_MS - 1);
  sweepSessions(access.db, clock, access.sessions);
  expect(exchange(access, early, { redirectUri, verifier: VERIFIERS[1] as string })).toBeNull();
  expect(isAlive()).toEqual([false, true]);
  clock.advance(1);
  sweepSessions(access.db, clock, access.sessions);
  expect(countLogins(access.sessions)).toBe(0);
  expect([exchange(access, forgotten), ...isAlive()]).toEqual([null, false, true]);
});

test('an owner is notified of each login by mail, with the machine’s name, and no login begins if the notification can’t be stored', async () => {
  const { access, ada } = await world();
  exchange(access, make(access, ada, { machine: 'desk' }));
  storeSignInNotices(access);
  const notices = access.db.$client.query("SELECT body FROM mails WHERE kind = 'new-sign-in'").values();
  expect(notices.join()).toMatch(/192\.0\.2\.\d+(?:.|\n)*profilectl on desk/);
  const code = make(access, ada);
  const { sqlite } = access.sessions;
  sqlite.run("CREATE TRIGGER untold BEFORE INSERT ON untold_sign_ins BEGIN SELECT RAISE(ABORT, 'no room'); END");
  expect(() => exchange(access, code)).toThrow();
  sqlite.run('DROP TRIGGER untold');
  expect(listSignIns(access, ada, 'profilectl')).toHaveLength(1);
  expect(exchange(access, code)).not.toBeNull();
});

test('an admin’s code makes an admin’s token, but not after the admin was removed', async () => {
  const { access } = await world();
  const grace: Signed = (await signIn(access, await enrol(access, 'Grace'))).signed;
  const [first, second] = [make(access, grace), make(access, grace)];
  const token = exchange(access, first) as string;
  expect(readSignIn(access, 'profilectl', token)?.person).toEqual({
    ...{ kind: 'admin', name: 'Grace' },
    generation: grace.generation,
  });
  removeAdmin(access, 'Grace', onBox('root'));
  expect(exchange(access, second)).toBeNull();
});

test('each person has at most 5 open codes, of which a new one replaces the oldest; all together have 1 000', async () => {
  const { access, clock, ada, bob } = await world();
  const codes = Array.from({ length: MAX_LOGINS.person + 1 }, () => {
    clock.advance(1);
    return make(access, ada);
  });
  expect(codes.map((code) => exchange(access, code) !== null)).toEqual([false, ...Array(5).fill(true)]);
  // The codes of other people are copies of this one.
  make(access, { kind: 'admin', name: 'admin', generation: 1 });
  const { sqlite } = access.sessions;
  const { id: _, ...row } = sqlite.query("SELECT * FROM tickets WHERE admin = 'admin'").get() as { id: number };
  const names = Object.keys(row);
  const insert = sqlite.query(`INSERT INTO tickets (${names}) VALUES (${names.map((name) => `$${name}`)})`);
  sqlite.transaction(() => {
    for (let count = 1; count < MAX_LOGINS.all - 1; count++) insert.run({ ...row, admin: `admin${count}` });
  })();
  make(access, bob);
  expect(await refusal(() => make(access, ada))).toMatchObject({ code: 'too_many_pages' });
  clock.advance(PURPOSES['sign-in code'].lifetimeMs);
  expect(exchange(access, make(access, ada))).not.toBeNull();
});

test('a person can log in 20 times a day, and others are not affected', async () => {
  const { access, clock, ada, bob } = await world();
  for (let count = 0; count < MAX_LOGINS.day; count++) {
    expect(exchange(access, make(access, ada))).not.toBeNull();
    clock.advance(60_000);
  }
  const late = await refusal(() => make(access, ada));
  const firstIsForgottenIn = DAY_MS / 1000 - MAX_LOGINS.day * 60;
  expect(late).toMatchObject({ code: 'too_many_requests', details: { retryAfterSeconds: firstIsForgottenIn } });
  expect(exchange(access, make(access, bob))).not.toBeNull();
  clock.advance(firstIsForgottenIn * 1000);
  expect(exchange(access, make(access, ada))).not.toBeNull();
});
