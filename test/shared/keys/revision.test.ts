import { describe, expect, test } from 'bun:test';
import type { Person } from '../../../shared/actor.ts';
import { findAdmin, removeAdmin } from '../../../shared/admins.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import type { Deps } from '../../../shared/deps.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { ALL_OPERATIONS, DECISIONS, OPERATIONS, perform } from '../../../shared/operations.ts';
import { profileRevision } from '../../../shared/profiles/find.ts';
import { endAllSignIns, readSignIn } from '../../../shared/sign-in/sessions.ts';
import { approveKey, INPUT_SAMPLES, issue, keyIn, mails, request, waitingWhile } from '../../support/keys.ts';
import { enrol, signedIn, signIn } from '../../support/people.ts';
import { changeByHand, eraseProfile, importLines, insertProfile } from '../../support/profiles.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

const SIGNED_OUT = 'You are no longer signed in; nothing was done.';
const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };

test('every change that matters to a request refuses a decision on what was shown before it; counts and links don’t', async () => {
  const deps = testDeps();
  const by = onBox('root');
  const importAda = (changes: object) => importLines(deps, [{ ...ADA, ...changes }]);
  const delivery = { outcome: 'refused', permanent: true, reason: 'No.' } as const;
  const mailer = async () => ({ send: async () => delivery });
  const changes: ((identifier: string, old: string) => unknown)[] = [
    () => importAda({ username: 'countess' }),
    () => importAda({ email: 'new@example.org' }),
    () => importAda({ banned: true }),
    (identifier) => perform(deps, by, OPERATIONS.edit, { identifier, name: 'Other' }),
    (_, identifier) => perform(deps, by, OPERATIONS.change, { identifier, expiresAtMs: deps.clock.nowMs() + DAY_MS }),
    (identifier) => refusal(approveKey({ ...deps, mailer }, { identifier, grant: {}, by })),
    (identifier) => moveAndNotify(deps, 'withdraw', { identifier, by }),
  ];
  for (const change of [null, ...changes]) {
    await importAda({});
    const { identifier: old } = await issue(deps, { profile: 'ada' });
    const identifier = await request(deps, { profile: 'ada', successorOf: old });
    const person = { kind: 'operator', name: 'ada', shown: keyRevision(deps.db, identifier) } as const;
    await importAda({ viewsCount: 5, links: [{ id: 'l1', name: 'github', link: 'https://example.org' }] });
    await change?.(identifier, old);
    const reject = async () => perform(deps, person, OPERATIONS.reject, { identifier, reason: 'No.' });
    if (change === null) await reject();
    else {
      expect((await refusal(reject)).message).toBe(
        `Key ${identifier} has changed since you opened it. Nothing was done.`,
      );
    }
    await importLines(deps, [{ id: 7, deleted: true }]);
  }
});

describe('an operation is refused, and writes nothing,', () => {
  /** The operations that change keys. */
  const CHANGING = ALL_OPERATIONS.filter(({ event }) => event !== null);

  /** A profile, with a key in the first state that allows this operation, unless it requests one. */
  async function world(operation: AnyOperation) {
    const { name, from } = operation;
    const clock = testClock();
    const deps = { ...testDeps({ clock, variables: { PUBLIC_URL: 'http://localhost:3000' } }), clock };
    await importLines(deps, [ADA]);
    const about =
      name === 'request'
        ? { profile: 'ada', profileId: 7 }
        : { identifier: await keyIn(from?.[0] ?? 'pending', deps, 'ada') };
    const act = (by: Person, late: Deps = deps) => perform(late, by, operation, { ...INPUT_SAMPLES, ...about });
    const revision = () =>
      about.identifier === undefined ? profileRevision(deps.db, 7) : keyRevision(deps.db, about.identifier);
    const snapshot = () =>
      JSON.stringify([
        ...['api_keys', "events WHERE subject = 'key'", 'key_attempts', 'mails'].map((table) =>
          deps.db.$client.query(`SELECT * FROM ${table} ORDER BY 1, 2`).all(),
        ),
        mails(deps),
      ]);
    return { deps, about, act, revision, snapshot };
  }

  for (const operation of CHANGING) {
    test(`if what the operator or an admin was shown has changed: ${operation.name}`, async () => {
      const { deps, about, act, revision, snapshot } = await world(operation);
      const shown = revision();
      if (about.identifier === undefined) await importLines(deps, [{ ...ADA, username: 'countess' }]);
      else await perform(deps, onBox('root'), OPERATIONS.edit, { identifier: about.identifier, name: 'Newer' });
      const before = snapshot();
      const people: Person[] = [{ kind: 'operator', name: 'ada', shown }];
      if (DECISIONS.includes(operation)) people.push({ kind: 'admin', name: 'Grace', shown });
      for (const person of people) {
        const error = await refusal(async () => act(person));
        expect([error.code, error.message]).toEqual([
          'changed_since',
          expect.stringMatching(
            /^(Key \w{8}|The profile with the UID 7) has changed since you opened it\. Nothing was done\.$/,
          ),
        ]);
        expect(snapshot()).toBe(before);
      }
      await act({ kind: 'operator', name: 'ada', shown: revision() });
      expect(snapshot()).not.toBe(before);
    });
  }

  for (const operation of DECISIONS) {
    test(`if the admin was removed: ${operation.name}`, async () => {
      const { deps, act, snapshot } = await world(operation);
      const signInId = (await signIn(deps, await enrol(deps, 'Grace'))).session.id;
      const grace = { kind: 'admin', name: 'Grace', signInId } as const;
      const before = snapshot();
      const late = waitingWhile(deps, () => void removeAdmin(deps, findAdmin(deps.db, 'Grace'), onBox('root')));
      const error = await refusal(async () => act(grace, late));
      expect([error.code, error.message]).toEqual(['signed_out', SIGNED_OUT]);
      expect(snapshot()).toBe(before);
    });
  }

  for (const operation of CHANGING.filter(({ who }) => who.owner !== 'none')) {
    test(`if the owner’s sign-in has ended, which a new username does not cause: ${operation.name}`, async () => {
      const ends: [isEnd: boolean, change: (deps: Deps) => unknown][] = [
        [true, (deps) => changeByHand(deps, 'ada', { email: 'new@example.org' })],
        [true, (deps) => endAllSignIns(deps, { profileId: 7, adminId: null })],
        [
          true,
          (deps) => {
            eraseProfile(deps, 'ada', onBox('root'));
            insertProfile(deps.db, ADA);
          },
        ],
        [false, (deps) => changeByHand(deps, 'ada', { username: 'countess', email: 'ADA@example.org' })],
      ];
      for (const [isEnd, change] of ends) {
        const { deps, act, snapshot } = await world(operation);
        const signInId = readSignIn(deps, signedIn(deps, 7))?.id as number;
        const owner = { kind: 'owner', name: 'owner', profileId: 7, signInId } as const;
        let before = '';
        // The change happens while the transaction waits for the lock, so the checks before it still pass.
        const late = waitingWhile(deps, () => {
          change(deps);
          before = snapshot();
        });
        const acting = refusal(async () => act(owner, late));
        if (!isEnd) {
          await expect(acting).rejects.toThrow('It was not refused.');
          expect(snapshot()).not.toBe(before);
          continue;
        }
        const error = await acting;
        expect([error.code, error.message]).toEqual(['signed_out', SIGNED_OUT]);
        expect(snapshot()).toBe(before);
      }
    });
  }
});
