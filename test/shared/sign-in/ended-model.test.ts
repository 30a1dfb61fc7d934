import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createCodeDesk, enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { endAllSignIns, listSignIns, readSignIn, sweepSignIns } from '../../../shared/sign-in/sessions.ts';
import { removeToken } from '../../../shared/tokens.ts';
import { CLIENT, countingCodes, openerFor, ownerOf, signedIn, ticketFor } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

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

const KINDS = ['session', 'session of a hand-over', 'code', 'hand-over'] as const;

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
  const access = testDeps({ clock: testClock(), random: codes.random });
  const { $client } = access.db;
  let opener = openerFor(access);
  const doesNotThrow = (act: () => unknown) => {
    try {
      act();
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^not_found$/) });
      return false;
    }
  };
  const begin: Record<Thing['kind'], (id: number) => () => boolean> = {
    session: (id) => {
      const token = signedIn(access, ownerOf(id));
      return () => readSignIn(access, token) !== null;
    },
    'session of a hand-over': (id) => {
      const token = handedOver(id);
      return () => readSignIn(access, token) !== null;
    },
    code: (id) => {
      const address = $client.query('SELECT email FROM profiles WHERE id = ?').values(id)[0]?.[0];
      const typed = { name: `user${id}`, address: `${address}`, browserSecret: null, client: CLIENT };
      const { browserSecret } = requestCode(access, createCodeDesk(access.clock), typed);
      const code = codes.lastCode();
      return () => enterCode(access, { browserSecret, code, client: CLIENT }).isSignedIn;
    },
    'hand-over': (id) => {
      const ticket = ticketFor(access, id, opener);
      return () => doesNotThrow(() => enterHandOver(access, ticket, CLIENT));
    },
  };
  const handedOver = (id: number) => enterHandOver(access, ticketFor(access, id, opener), CLIENT);
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
          expect(listSignIns(access, ownerOf(of))).toEqual([]);
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
        endAllSignIns(access, ownerOf(of));
        for (const one of things) if (one.profile === of) one.hasEnded = true;
      },
      'remove token': () => {
        removeToken(access, opener, onBox('root'));
        for (const one of things) if (OPENED.includes(one.kind)) one.hasEnded = true;
        opener = openerFor(access);
      },
      sweep: () => sweepSignIns(access),
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
    numRuns: rounds(10),
    interruptAfterTimeLimit: 40_000,
  });
  // Otherwise the steps would not test these cases.
  expect(revived).toBeGreaterThan(10);
}, 60_000);
