import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { removeToken } from '../../../shared/backends/backend-tokens.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { endAllSignIns } from '../../../shared/sign-in/end-all.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { isKnownBrowser } from '../../../shared/sign-in/known-browsers.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { ownerToSign, readBinding } from '../../../shared/sign-ins/binding.ts';
import { beginSignIn, listSignIns, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { onBox } from '../../support/actors.ts';
import { importLines } from '../../support/import.ts';
import { CLIENT, countingCodes, openerFor, testAccess, ticketFor } from '../../support/portal/access.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock } from '../../support/world.ts';

// Everything that gave an owner access stays ended if the address was changed, the profile was erased, the owner ended
// everything, or the backend's token that opened it was removed. Each kind is compared with a model of when it has to
// work.

/** Addresses that a profile gets in turn, with a number that is the same for addresses that differ only in case. */
const ADDRESSES: readonly [string | null, number][] = [
  ['ada@example.org', 0],
  ['ADA@example.org', 0],
  ['Ada@Example.ORG', 0],
  ['bea@example.org', 1],
  [null, 2],
];

const KINDS = ['session', 'session of a hand-over', 'known browser', 'code', 'hand-over'] as const;

/** The kinds that also end when a backend's token is removed. */
const OPENED: readonly string[] = ['session of a hand-over', 'hand-over'];

type Step =
  | { do: 'begin'; kind: (typeof KINDS)[number]; profile: number }
  | { do: 'address'; profile: number; to: number; isMerged: boolean }
  | { do: 'erase' | 'end all'; profile: number }
  | { do: 'sweep' | 'remove token' };

const profile = fc.integer({ min: 1, max: 2 });
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('begin' as const), kind: fc.constantFrom(...KINDS), profile }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('address' as const),
      profile,
      to: fc.nat(ADDRESSES.length - 1),
      isMerged: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('erase' as const, 'end all'), profile }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'sweep' }, { do: 'remove token' }) },
);

/** A credential: whether it still works, and whether a try uses it up. */
type Thing = {
  kind: (typeof KINDS)[number];
  profile: number;
  era: number;
  hasEnded: boolean;
  works: () => boolean;
  isOnce: boolean;
};

test('a credential that was ended never works again, and a change of case ends none (model)', async () => {
  const codes = countingCodes();
  const access = testAccess({ clock: testClock(), random: codes.random });
  const { sqlite } = access.sessions;
  let opener = openerFor(access);
  const doesNotThrow = (act: () => unknown) => {
    try {
      act();
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(not_found|invalid_grant)$/) });
      return false;
    }
  };
  const signed = (id: number) => ownerToSign(access, id) as Signed;
  const begin: Record<Thing['kind'], (id: number) => () => boolean> = {
    session: (id) => {
      const { token } = beginSignIn(access, signed(id), CLIENT);
      return () => readSignIn(access, token) !== null;
    },
    'session of a hand-over': (id) => {
      const token = handedOver(id);
      return () => readSignIn(access, token) !== null;
    },
    'known browser': (id) => {
      const ticket = ticketFor(access, id, opener);
      const { knownBrowser, token } = enterHandOver(access, ticket, null, CLIENT);
      expect(readSignIn(access, token)).not.toBeNull();
      return () =>
        isKnownBrowser(access.sessions.db, knownBrowser, readBinding(access.db, id) as never, access.clock.nowMs());
    },
    code: (id) => {
      sqlite.run('DELETE FROM mail_counts');
      const address = access.db.$client.query('SELECT email FROM profiles WHERE id = ?').values(id)[0]?.[0];
      const typed = { name: `user${id}`, address: `${address}` };
      const { browserSecret } = requestCode(access, {
        ...typed,
        browserSecret: null,
        knownBrowser: null,
        client: CLIENT,
      });
      const code = codes.lastCode();
      return () => enterCode(access, { browserSecret, knownBrowser: null, code, client: CLIENT }).isSignedIn;
    },
    'hand-over': (id) => {
      const ticket = ticketFor(access, id, opener);
      return () => doesNotThrow(() => enterHandOver(access, ticket, null, CLIENT));
    },
  };
  const handedOver = (id: number) => enterHandOver(access, ticketFor(access, id, opener), null, CLIENT).token;
  let revived = 0;

  const run = async (steps: readonly Step[]) => {
    const things: Thing[] = [];
    const address = [0, 0, 0];
    const eras = [0, 0, 0];
    const past = new Set<string>();
    const put = async (id: number, options = {}) => {
      const email = (ADDRESSES[address[id] as number] as [string | null, number])[0];
      await importLines(access, [{ id, username: `user${id}`, email }], options);
    };
    const begun = (one: Thing) => !one.hasEnded && one.era === eras[one.profile];
    const acts = {
      begin: ({ kind, profile: of }: Extract<Step, { do: 'begin' }>) => {
        if (kind === 'code' && ADDRESSES[address[of] as number]?.[0] === null) return;
        const isOnce = ['code', 'hand-over'].includes(kind);
        const works = begin[kind](of);
        things.push({ kind, profile: of, era: eras[of] as number, hasEnded: false, works, isOnce });
      },
      address: async ({ profile: of, to, isMerged }: Extract<Step, { do: 'address' }>) => {
        const [before, after] = [ADDRESSES[address[of] as number]?.[1], ADDRESSES[to]?.[1]];
        past.add(`${of} ${before}`);
        if (before !== after) {
          eras[of] = (eras[of] as number) + 1;
          if (past.has(`${of} ${after}`)) revived++;
        }
        address[of] = to;
        await put(of, { merge: isMerged });
        // What began under another address may have been another person's.
        if (before !== after) {
          expect(listSignIns(access, signed(of))).toEqual([]);
        }
      },
      erase: async ({ profile: of }: { profile: number }) => {
        await importLines(access, [{ id: of, deleted: true }] as never);
        for (const { works, ...one } of things) {
          if (one.profile === of && /^session/.test(one.kind)) expect([one.kind, works()]).toEqual([one.kind, false]);
        }
        await put(of);
        eras[of] = (eras[of] as number) + 1;
      },
      'end all': ({ profile: of }: { profile: number }) => {
        endAllSignIns(access, signed(of));
        for (const one of things) if (one.profile === of) one.hasEnded = true;
        const alive = 'SELECT count(*) FROM sign_ins WHERE profile_id = ? AND ended_at IS NULL';
        expect(sqlite.query(alive).values(of)).toEqual([[0]]);
      },
      'remove token': () => {
        removeToken(access, opener, onBox('root'));
        for (const one of things) if (OPENED.includes(one.kind)) one.hasEnded = true;
        const alive = 'SELECT count(*) FROM sign_ins WHERE opened_by = ? AND ended_at IS NULL';
        expect(sqlite.query(alive).values(opener)).toEqual([[0]]);
        opener = openerFor(access);
      },
      sweep: () => sweepSessions(access.db, access.clock, access.sessions),
    };
    for (const id of [1, 2]) await acts.erase({ profile: id });
    for (const step of steps) {
      await (acts[step.do] as (of: Step) => unknown)(step);
      for (const one of things.filter(({ isOnce }) => !isOnce)) {
        expect([one.kind, one.works()]).toEqual([one.kind, begun(one)]);
      }
    }
    for (const one of things.filter(({ isOnce }) => isOnce)) {
      expect([one.kind, one.works()]).toEqual([one.kind, begun(one)]);
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(STEP, { minLength: 30, maxLength: 60, size: 'max' }), run), {
    numRuns: rounds(40),
    interruptAfterTimeLimit: 40_000,
  });
  // Otherwise the steps would not test these cases.
  expect(revived).toBeGreaterThan(10);
}, 60_000);
