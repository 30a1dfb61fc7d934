import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Person } from '../../../shared/actor.ts';
import { addAdmin, inviteAdmin, removeAdmin } from '../../../shared/admins/admins.ts';
import { keyVersion } from '../../../shared/keys/key-version.ts';
import { DECISIONS, OPERATIONS, perform } from '../../../shared/operations.ts';
import {
  beginDecisions,
  beginPasskeySignIn,
  consumeAssertion as consumeAssertions,
  signInByPasskey,
} from '../../../shared/passkeys/assertions.ts';
import { type Decision, decisionsText } from '../../../shared/passkeys/decision.ts';
import { readAuthorised } from '../../../shared/passkeys/pending-decisions.ts';
import { beginRegistration } from '../../../shared/passkeys/registration.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { openSessionsFile, removeSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import type { SignedAdmin } from '../../../shared/sessions-file/whose.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { MAX_CHALLENGES } from '../../../shared/tickets/purposes.ts';
import { onBox } from '../../support/actors.ts';
import { decidedValues } from '../../support/input-values.ts';
import { request } from '../../support/keys.ts';
import { startLineChild } from '../../support/line-child.ts';
import { CLIENT, testAccess } from '../../support/portal/access.ts';
import { enrol, secretOf, signIn } from '../../support/portal/admins.ts';
import type { Twist } from '../../support/portal/authenticator.ts';
import { countTickets } from '../../support/portal/sessions-rows.ts';
import { insertProfile } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock } from '../../support/world.ts';

const access = testAccess({ variables: { PUBLIC_URL: 'https://api.example.org' }, clock: testClock() });
const clock = access.clock as ReturnType<typeof testClock>;
const grace = await enrol(access, 'Grace');
const ada = await enrol(access, 'Ada');
insertProfile(access.db, { id: 1 });
const identifier = await request(access, { profile: 'user1' });

/** The decision as the page showed it and the form contains it, with every input that a decision can have. */
const INPUT = Object.fromEntries(DECISIONS.flatMap(decidedValues).map(({ input, first }) => [input, first]));

const decisionOn = (changes: Partial<Decision> = {}): Decision => ({
  operation: 'approve',
  input: { ...INPUT, identifier },
  shown: keyVersion(access, identifier),
  ...changes,
});

/** For a list with a single decision. */
const beginDecision = (at: Access, admin: SignedAdmin, decision: Decision) => beginDecisions(at, admin, [decision]);

const consumeAssertion = async (at: Access, admin: SignedAdmin, sent: string, decision: Decision): Promise<Person> =>
  (await consumeAssertions(at, admin, sent, [decision])).people[0] as Person;

const decisionText = (decision: Decision) => decisionsText([decision]);

/** Signs an admin in with this passkey, a minute later, so that limits on challenges are not reached. */
const signedIn = async (authenticator = grace): Promise<SignedAdmin> => {
  clock.advance(60_000);
  return (await signIn(access, authenticator)).signed;
};

/** How many processes receive the same assertion at the same time. */
const PROCESSES = 1 + rounds(2);

const children = await Promise.all(
  Array.from({ length: PROCESSES }, () =>
    startLineChild(join(import.meta.dir, 'assertion-child.ts'), access.config.databasePath),
  ),
);

/** Their output. */
async function sayAtOnce(words: object): Promise<(string | undefined)[]> {
  for (const { send } of children) send(JSON.stringify(words));
  return Promise.all(children.map(({ next }) => next()));
}

/** The outcomes of three tries of which one succeeds. */
const ONCE: ('fulfilled' | 'rejected')[] = ['fulfilled', 'rejected', 'rejected'];

const faultOf = async (act: () => unknown) => (await refusal(act)).message;

describe('a decision of an admin', () => {
  test('is authorised by one assertion, for exactly this decision, once', async () => {
    const admin = await signedIn();
    const decision = decisionOn();
    const { challenge, party, credentialIds } = beginDecision(access, admin, decision);
    expect({ party, credentialIds }).toEqual({
      party: { id: 'api.example.org', origin: 'https://api.example.org' },
      credentialIds: [grace.credentialId.toString('base64url')],
    });
    const sent = grace.assert(challenge);
    const person = await consumeAssertion(access, admin, sent, decision);
    const { generation } = admin;
    expect(person).toEqual({ kind: 'admin', name: 'Grace', generation, hasAsserted: true, shown: decisionOn().shown });
    expect(await faultOf(() => consumeAssertion(access, admin, sent, decision))).toContain('sent twice');
    const asked = await request(access, { profile: 'user1' });
    const other = await refusal(perform(access, person, OPERATIONS.reject, { identifier: asked, reason: 'No.' }));
    expect(other.code).toBe('changed_since');
    const unasserted = { ...person, hasAsserted: false } as typeof person;
    const refused = await refusal(perform(access, unasserted, OPERATIONS.reject, { identifier, reason: 'No.' }));
    expect(refused.code).toBe('forbidden');
  });

  const changed: Partial<Decision>[] = [
    ...DECISIONS.filter(({ name }) => name !== 'approve').map(({ name }) => ({ operation: name })),
    { input: { ...INPUT, identifier: 'AAAAAAAA' } },
    ...DECISIONS.flatMap(decidedValues).flatMap(({ input, others }) =>
      [...others, undefined].map((value) => ({ input: { ...INPUT, identifier, [input]: value } })),
    ),
    { input: { ...INPUT, identifier, another: 1 } },
    { shown: 'x' },
  ];

  const cases = changed.map((change) => [JSON.stringify(Object.entries(change)), change] as const);

  test.each(cases)('that differs from the one the challenge was made for is refused: %s', async (_, change) => {
    const admin = await signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn());
    const act = () => consumeAssertion(access, admin, grace.assert(challenge), decisionOn(change));
    expect(await faultOf(act)).toContain('something other than this');
    expect(await faultOf(() => consumeAssertion(access, admin, grace.assert(challenge), decisionOn()))).toContain(
      'start again',
    );
  });

  test('is serialised uniquely, whatever its inputs, and in the same way in whatever order they are given', () => {
    const value = fc.oneof(fc.nat(3), fc.constantFrom(null, '', 'x'), fc.array(fc.record({ quota: fc.nat(2) })));
    const inputs = fc.uniqueArray(fc.tuple(fc.constantFrom('reason', 'expiresAtMs', 'another'), value), {
      selector: ([name]) => name,
    });
    const decisions = fc
      .tuple(fc.constantFrom('approve', 'remove passkey'), fc.constantFrom('a', '","operation":"'), inputs)
      .map(([operation, about, others]): Decision => {
        return { operation, input: { identifier: about, ...Object.fromEntries(others) }, shown: 's' };
      });
    fc.assert(
      fc.property(decisions, decisions, (one, other) => {
        expect(decisionText(one) === decisionText(other)).toBe(Bun.deepEquals(one, other, true));
        const turned = Object.fromEntries(Object.entries(one.input).toReversed()) as Decision['input'];
        expect(decisionText({ shown: one.shown, input: turned, operation: one.operation })).toBe(decisionText(one));
      }),
      { numRuns: rounds(300) },
    );
  });

  test('is authorised together with others by one assertion for exactly this list; a changed key is refused individually', async () => {
    const other = await request(access, { profile: 'user1' });
    const list = () => [
      decisionOn(),
      decisionOn({ input: { ...INPUT, identifier: other }, shown: keyVersion(access, other) }),
    ];
    const admin = await signedIn();
    for (const said of [list().slice(0, 1), list().toReversed(), [...list(), decisionOn()], []]) {
      const { challenge } = beginDecisions(access, admin, list());
      expect(await faultOf(() => consumeAssertions(access, admin, grace.assert(challenge), said))).toContain(
        'something other than this',
      );
    }
    const before = list();
    const { challenge } = beginDecisions(access, admin, before);
    await perform(access, onBox('owner'), OPERATIONS.edit, { identifier: other, name: 'Renamed' });
    const { id, people } = await consumeAssertions(access, admin, grace.assert(challenge), before);
    expect(people.map((person) => 'shown' in person && person.shown)).toEqual(before.map(({ shown }) => shown));
    expect(readAuthorised(access, admin, id)).toEqual({ decisions: before, atMs: clock.nowMs() });
    for (const other of [{ name: 'Ada' }, { generation: admin.generation + 1 }]) {
      expect(readAuthorised(access, { ...admin, ...other }, id)).toBeNull();
    }
    const reject = (at: number, identifier: string) =>
      refusal(() => perform(access, people[at] as Person, OPERATIONS.approve, { identifier }));
    expect((await reject(1, other)).code).toBe('changed_since');
    expect((await refusal(() => beginDecisions(access, admin, before))).code).toBe('changed_since');
  });

  test('is refused if the key has changed since the page showed it, before and after the passkey is requested', async () => {
    const admin = await signedIn();
    const decision = decisionOn();
    const { challenge } = beginDecision(access, admin, decision);
    await perform(access, onBox('owner'), OPERATIONS.edit, { identifier, name: 'Another name' });
    const after = await refusal(() => consumeAssertion(access, admin, grace.assert(challenge), decision));
    expect(after.code).toBe('changed_since');
    expect((await refusal(() => beginDecision(access, admin, decision))).code).toBe('changed_since');
    beginDecision(access, admin, decisionOn());
  });

  test('is refused 5 minutes later', async () => {
    const admin = await signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn());
    clock.advance(5 * 60_000);
    const act = () => consumeAssertion(access, admin, grace.assert(challenge), decisionOn());
    expect(await faultOf(act)).toContain('longer than five minutes');
  });

  test('is refused with a challenge that was made before the clock was set back', async () => {
    const admin = await signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn());
    clock.advance(-3_600_000);
    const act = () => consumeAssertion(access, admin, grace.assert(challenge), decisionOn());
    expect(await faultOf(act)).toContain('longer than five minutes');
    clock.advance(3_600_000);
  });

  test('is refused with another admin’s passkey, challenge or session, and with a challenge for signing in', async () => {
    const [mine, theirs] = [await signedIn(), await signedIn(ada)];
    const made = () => beginDecision(access, mine, decisionOn()).challenge;
    expect(await faultOf(() => consumeAssertion(access, mine, ada.assert(made()), decisionOn()))).toContain(
      'not yours',
    );
    expect(await faultOf(() => consumeAssertion(access, theirs, ada.assert(made()), decisionOn()))).toContain(
      'something other than this',
    );
    expect(await faultOf(() => consumeAssertion(access, theirs, grace.assert(made()), decisionOn()))).toContain(
      'something other than this',
    );
    const { challenge } = beginPasskeySignIn(access);
    expect(await faultOf(() => consumeAssertion(access, mine, grace.assert(challenge), decisionOn()))).toContain(
      'start again',
    );
    expect(await faultOf(() => signInByPasskey(access, grace.assert(made()), CLIENT))).toContain('start again');
  });

  test.each<[string, Twist]>([
    ['another site', { party: { origin: 'https://evil.example' } }],
    ['another host', { party: { id: 'evil.example' } }],
    ['counter went back', { signCount: 0 }],
  ])('is refused with an assertion that is not valid here: %s', async (why, twist) => {
    const admin = await signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn());
    expect(
      await faultOf(() => consumeAssertion(access, admin, grace.assert(challenge, twist), decisionOn())),
    ).toContain(why);
  });

  test('is authorised once if several processes send it at the same time', async () => {
    // The child processes use the machine's clock.
    clock.advance(Date.now() - clock.nowMs());
    const admin = (await signIn(access, grace)).signed;
    const decision = decisionOn();
    const sent = grace.assert(beginDecision(access, admin, decision).challenge);
    const said = await sayAtOnce({ admin, sent, decision });
    expect(said.sort()).toEqual([
      ...Array(PROCESSES - 1).fill('forbidden'),
      JSON.stringify({ ...admin, hasAsserted: true, shown: decision.shown }),
    ]);
  });

  test('is refused if the admin is invited again or removed while the signature is verified', async () => {
    const mary = await enrol(access, 'Mary');
    const ways = [
      () => inviteAdmin(access, 'Mary', { keepPasskeys: true }, onBox('root')),
      () => removeAdmin(access, 'Mary', onBox('root')),
    ];
    for (const end of ways) {
      const admin = await signedIn(mary);
      const { challenge } = beginDecision(access, admin, decisionOn());
      const verified = refusal(consumeAssertion(access, admin, mary.assert(challenge), decisionOn()));
      end();
      expect((await verified).code).toBe('forbidden');
    }
  });

  test('is authorised once if one process receives the same assertion several times at once; so is a sign-in', async () => {
    const admin = await signedIn();
    const outcomesOf = async (act: () => Promise<unknown>) =>
      (await Promise.allSettled([act(), act(), act()])).map(({ status }) => status).sort();
    const jean = await enrol(access, 'Jean');
    const { challenge } = beginDecision(access, admin, decisionOn());
    const decided = grace.assert(challenge);
    expect(await outcomesOf(() => consumeAssertion(access, admin, decided, decisionOn()))).toEqual(ONCE);
    // This authenticator has no counter: only the challenge prevents a second use of the assertion.
    const entered = jean.assert(beginPasskeySignIn(access).challenge, { signCount: 0 });
    expect(await outcomesOf(() => signInByPasskey(access, entered, CLIENT))).toEqual(ONCE);
  });

  test('is refused after the admin was invited again, in a new session too, or removed', async () => {
    const joan = await enrol(access, 'Joan');
    const expectEnded = async (admin: SignedAdmin, challenge: string) => {
      const consumed = await refusal(() => consumeAssertion(access, admin, joan.assert(challenge), decisionOn()));
      expect(consumed.code).toBe('forbidden');
      expect((await refusal(() => beginDecision(access, admin, decisionOn()))).code).toBe('forbidden');
    };
    const admin = await signedIn(joan);
    const [first, second] = [1, 2].map(() => beginDecision(access, admin, decisionOn()).challenge) as [string, string];
    inviteAdmin(access, 'Joan', { keepPasskeys: true }, onBox('root'));
    await expectEnded(admin, first);
    const again = await signedIn(joan);
    expect(await faultOf(() => consumeAssertion(access, again, joan.assert(second), decisionOn()))).toContain(
      'something other than this',
    );
    const { challenge } = beginDecision(access, again, decisionOn());
    removeAdmin(access, 'Joan', onBox('root'));
    await expectEnded(again, challenge);
  });
});

describe('challenges', () => {
  const fresh = () => {
    const made = testAccess({ variables: { PUBLIC_URL: 'https://api.example.org' }, clock: testClock() });
    return { ...made, clock: made.clock as ReturnType<typeof testClock> };
  };

  const rows = ({ sessions }: ReturnType<typeof fresh>) => [
    countTickets(sessions, 'registration') + countTickets(sessions, 'decision'),
    countTickets(sessions, 'used challenge'),
  ];

  test('of decisions and registrations are limited to 30 a minute for each person, used or not, whatever others request', async () => {
    const world = fresh();
    const [grace, joan] = [
      (await signIn(world, await enrol(world, 'Grace'))).signed,
      (await signIn(world, await enrol(world, 'Joan'))).signed,
    ];
    const [first, second] = ['Ann', 'Eve'].map((name) => secretOf(addAdmin(world, name, onBox('root')).address));
    insertProfile(world.db, { id: 1 });
    const key = await request(world, { profile: 'user1' });
    const decision = decisionOn({ input: { ...INPUT, identifier: key }, shown: keyVersion(world, key) });
    // Not all at the same time, so that the next one may be made exactly when the first is a minute old.
    const most = async (begin: () => unknown) => {
      for (let n = 0; n < MAX_CHALLENGES; n++) {
        begin();
        world.clock.advance(n === 0 ? 1_500 : 0);
      }
      const { code, details } = await refusal(begin);
      expect([code, details.retryAfterSeconds]).toEqual(['too_many_challenges', 59]);
    };
    await most(() => beginDecision(world, grace, decision));
    await most(() => beginRegistration(world, first as string));
    beginDecision(world, joan, decision);
    beginRegistration(world, second as string);
    world.clock.advance(57_000);
    beginDecision(world, grace, decision);
    // Expired challenges are deleted.
    world.clock.advance(600_000);
    sweepSessions(world.db, world.clock, world.sessions);
    expect(rows(world)[0]).toBe(0);
  });

  test('for signing in are not stored: an admin’s works however many strangers request, and decisions are counted separately', async () => {
    const world = fresh();
    const authenticator = await enrol(world, 'Grace');
    const { challenge } = beginPasskeySignIn(world);
    const before = world.sessions.sqlite.query('SELECT total_changes()').values();
    const others = Array.from({ length: 2_000 }, () => beginPasskeySignIn(world).challenge);
    expect(new Set(others).size).toBe(2_000);
    for (const other of others.slice(0, 100)) {
      expect(await faultOf(() => signInByPasskey(world, grace.assert(other), CLIENT))).toContain('not registered here');
    }
    expect(world.sessions.sqlite.query('SELECT total_changes()').values()).toEqual(before);
    const { session } = await signInByPasskey(world, authenticator.assert(challenge), CLIENT);
    expect(session.signed).toMatchObject({ name: 'Grace' });
  });

  test('for signing in work once, for 5 minutes, and only unchanged', async () => {
    const world = fresh();
    const authenticator = await enrol(world, 'Grace');
    // This authenticator has no counter, like many: only the challenge prevents a second use of the assertion.
    const enter = (challenge: string) =>
      faultOf(() => signInByPasskey(world, authenticator.assert(challenge, { signCount: 0 }), CLIENT));
    const sent = authenticator.assert(beginPasskeySignIn(world).challenge, { signCount: 0 });
    await signInByPasskey(world, sent, CLIENT);
    const again = () => faultOf(() => signInByPasskey(world, sent, CLIENT));
    expect(await again()).toContain('sent twice');
    for (const jumpMs of [60_000, 3_600_000, 11 * 3_600_000, -12 * 3_600_000]) {
      world.clock.advance(jumpMs);
      sweepSessions(world.db, world.clock, world.sessions);
      expect(await again()).toContain('start again');
    }
    const [early, late] = [beginPasskeySignIn(world).challenge, beginPasskeySignIn(world).challenge];
    world.clock.advance(5 * 60_000 - 1);
    expect((await signInByPasskey(world, authenticator.assert(early, { signCount: 0 }), CLIENT)).token).toHaveLength(
      43,
    );
    world.clock.advance(1);
    expect(await enter(late)).toContain('longer than five minutes');
    world.clock.advance(-3_600_000);
    const ahead = beginPasskeySignIn(world).challenge;
    world.clock.advance(-61_000);
    expect(await enter(ahead)).toContain('start again');
    const bytes = Buffer.from(beginPasskeySignIn(world).challenge, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at);
      expect([at, await enter(changed.toString('base64url'))]).toEqual([at, expect.stringContaining('start again')]);
    }
    for (const other of ['', 'x', bytes.subarray(0, -1).toString('base64url'), `${bytes.toString('base64url')}=`]) {
      expect(await enter(other)).toContain('start again');
    }
    expect(await enter(beginPasskeySignIn(fresh()).challenge)).toContain('start again');
  });

  test('for signing in work once if several processes receive one at the same time', async () => {
    // The child processes use the machine's clock.
    clock.advance(Date.now() - clock.nowMs());
    const joan = await enrol(access, 'Joan of Arc');
    const sent = joan.assert(beginPasskeySignIn(access).challenge, { signCount: 0 });
    expect((await sayAtOnce({ sent })).sort()).toEqual(['Joan of Arc', ...Array(PROCESSES - 1).fill('forbidden')]);
    removeAdmin(access, 'Joan of Arc', onBox('root'));
  });
});

test('without the sessions file nobody is signed in, and no challenge is open', async () => {
  const world = testAccess({ variables: { PUBLIC_URL: 'https://api.example.org' } });
  const authenticator = await enrol(world, 'Grace');
  const { challenge } = beginPasskeySignIn(world);
  world.sessions.sqlite.close();
  removeSessionsFile(world.config.databasePath);
  const again = { ...world, sessions: openSessionsFile(world.config.databasePath) };
  expect(await faultOf(() => signInByPasskey(again, authenticator.assert(challenge), CLIENT))).toContain('start again');
  expect((await signIn(again, authenticator)).signed.name).toBe('Grace');
  again.sessions.sqlite.close();
});
