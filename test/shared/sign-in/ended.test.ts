import { expect, test } from 'bun:test';
import type { Deps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { createCodeDesk, enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { endAllSignIns, readSignIn, sweepSignIns } from '../../../shared/sign-in/sessions.ts';
import { removeToken } from '../../../shared/tokens.ts';
import { addBackend, CLIENT, countingCodes, signedIn, ticketFor } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

// Whatever gave an owner access stays ended once its reason is gone.

const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };
const BOB = { id: 2, username: 'bob', email: 'bob@example.org' };

type World = Awaited<ReturnType<typeof world>>;

async function world() {
  const codes = countingCodes();
  const access: Deps = testDeps({ clock: testClock(), random: codes.random });
  await importLines(access, [ADA, BOB]);
  return { access, codes, opener: addBackend(access).identifier };
}

function isEntered(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false;
    throw error;
  }
}

/** What gives access, by kind: each begins it, and returns whether it still works. */
const KINDS: Record<string, (world: World, of: typeof ADA) => () => boolean> = {
  session: ({ access }, { id }) => {
    const token = signedIn(access, id);
    return () => readSignIn(access, token) !== null;
  },
  'session of a hand-over': ({ access, opener }, { id }) => {
    const token = enterHandOver(access, ticketFor(access, id, opener), CLIENT);
    return () => readSignIn(access, token) !== null;
  },
  code: ({ access, codes }, { username: name, email: address }) => {
    const typed = { name, address, browserSecret: null, client: CLIENT };
    const { browserSecret } = requestCode(access, createCodeDesk(access.clock), typed);
    const code = codes.lastCode();
    return () => enterCode(access, { browserSecret, code, client: CLIENT }).isSignedIn;
  },
  'hand-over': ({ access, opener }, { id }) => {
    const ticket = ticketFor(access, id, opener);
    return () => isEntered(() => enterHandOver(access, ticket, CLIENT));
  },
};

const ALL = Object.keys(KINDS);
const become = ({ access }: World, line: object, merge = false) =>
  importLines(access, [{ ...(merge ? { id: ADA.id } : ADA), ...line }] as never, { merge });

test.each<[string, readonly string[], (world: World) => unknown]>([
  ['the address changes', ALL, (w) => become(w, { email: 'bea@example.org' })],
  ['the address is removed by a merged line', ALL, (w) => become(w, { email: null }, true)],
  [
    'the address changes and changes back',
    ALL,
    async (w) => {
      await become(w, { email: 'bea@example.org' });
      await become(w, {});
    },
  ],
  [
    'the profile is erased and there is another one with its id',
    ALL,
    async (w) => {
      await importLines(w.access, [{ id: ADA.id, deleted: true }] as never);
      await become(w, {});
    },
  ],
  [
    'the owner is signed out everywhere',
    ALL,
    ({ access }) => endAllSignIns(access, { profileId: ADA.id, adminId: null }),
  ],
  [
    'the token that opened it is removed',
    ['session of a hand-over', 'hand-over'],
    ({ access, opener }) => removeToken(access, opener, onBox('root')),
  ],
  ['only the case of the address changes', [], (w) => become(w, { email: 'ADA@Example.ORG' })],
  [
    'the profile is renamed and old rows are deleted',
    [],
    async (w) => {
      await become(w, { username: 'lovelace' });
      sweepSignIns(w.access);
    },
  ],
])('if %s, these end: %j', async (_, ended, act) => {
  const w = await world();
  const things = ALL.flatMap((kind) => [ADA, BOB].map((of) => ({ kind, of, works: KINDS[kind]?.(w, of) })));
  await act(w);
  const isOpened = ended.length === 2;
  for (const { kind, of, works } of things) {
    const hasEnded = ended.includes(kind) && (of === ADA || isOpened);
    expect([kind, of.id, works?.()]).toEqual([kind, of.id, !hasEnded]);
  }
});
