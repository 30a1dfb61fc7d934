import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { inviteAdmin, removeAdmin } from '../../../shared/access/admins.ts';
import {
  beginDecision,
  beginSignIn,
  consumeAssertion,
  type SignedAdmin,
  signInByPasskey,
} from '../../../shared/access/assertions.ts';
import { MOST_A_MINUTE, MOST_OPEN, MOST_OPEN_SIGN_INS, makeChallenge } from '../../../shared/access/challenges.ts';
import { type Decision, decisionText } from '../../../shared/access/decision.ts';
import { openSessionsFile, removeSessionsFile } from '../../../shared/access/sessions-file.ts';
import { sweepSessions } from '../../../shared/access/sweep.ts';
import { hashOf } from '../../../shared/access/tokens.ts';
import { shownState } from '../../../shared/keys/shown.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { CLIENT, testAccess } from '../../support/access.ts';
import { onBox } from '../../support/actors.ts';
import { enrol, signIn } from '../../support/admins.ts';
import type { Twist } from '../../support/authenticator.ts';
import { PROJECT } from '../../support/cli.ts';
import { request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock } from '../../support/world.ts';

const access = testAccess({ variables: { PUBLIC_URL: 'https://api.example.org' }, clock: testClock() });
const clock = access.clock as ReturnType<typeof testClock>;
const grace = enrol(access, 'Grace');
const ada = enrol(access, 'Ada');
insertProfile(access.db, { id: 1 });
const identifier = await request(access, { profile: 'user1' });

/** As the page showed it, and as the form says. */
const decisionOn = (changes: Partial<Decision> = {}): Decision => ({
  operation: 'approve',
  identifier,
  permissions: ['api.lookup'],
  rateLimits: [{ quota: 60, windowSeconds: 60 }],
  expiresAtMs: Date.parse('2027-01-01T00:00:00Z'),
  retireOldAtMs: null,
  reason: null,
  shown: shownState(access, identifier),
  ...changes,
});

/** Whoever is signed in with this passkey now; the next minute, so that no limit on challenges is met. */
const signedIn = (authenticator = grace): SignedAdmin => {
  clock.advance(60_000);
  return signIn(access, authenticator).signed;
};

const faultOf = async (act: () => unknown) => (await refusal(act)).message;

describe('a decision of an admin', () => {
  test('is let through by one assertion, for exactly this decision, once', async () => {
    const admin = signedIn();
    const decision = decisionOn();
    const { challenge, party, credentialIds } = beginDecision(access, admin, decision, CLIENT);
    expect({ party, credentialIds }).toEqual({
      party: { id: 'api.example.org', origin: 'https://api.example.org' },
      credentialIds: [grace.credentialId.toString('base64url')],
    });
    const sent = grace.assert(challenge);
    const person = consumeAssertion(access, admin, sent, decision);
    expect(person).toEqual({ kind: 'admin', name: 'Grace', hasAsserted: true, shown: decisionOn().shown });
    expect(await faultOf(() => consumeAssertion(access, admin, sent, decision))).toContain('sent twice');
    const asked = await request(access, { profile: 'user1' });
    const other = await refusal(perform(access, person, OPERATIONS.reject, { identifier: asked, reason: 'No.' }));
    expect(other.code).toBe('changed_since');
    const unasserted = { ...person, hasAsserted: false } as typeof person;
    const refused = await refusal(perform(access, unasserted, OPERATIONS.reject, { identifier, reason: 'No.' }));
    expect(refused.code).toBe('forbidden');
  });

  const changed: Partial<Decision>[] = [
    { operation: 'change' },
    { operation: 'revoke' },
    { identifier: 'AAAAAAAA' },
    { permissions: ['api.leaderboard'] },
    { permissions: ['api.lookup', 'api.leaderboard'] },
    { permissions: [] },
    { permissions: undefined },
    { rateLimits: [{ quota: 61, windowSeconds: 60 }] },
    { rateLimits: [{ quota: 60, windowSeconds: 61 }] },
    { rateLimits: undefined },
    { expiresAtMs: Date.parse('2027-01-01T00:00:01Z') },
    { expiresAtMs: null },
    { expiresAtMs: undefined },
    { retireOldAtMs: Date.parse('2027-01-01T00:00:00Z') },
    { retireOldAtMs: undefined },
    { reason: 'x' },
    { reason: undefined },
    { shown: 'x' },
  ];

  const cases = changed.map((change) => [JSON.stringify(Object.entries(change)), change] as const);

  test.each(cases)('that says anything else than the challenge was made for is refused: %s', async (_, change) => {
    const admin = signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn(), CLIENT);
    const act = () => consumeAssertion(access, admin, grace.assert(challenge), decisionOn(change));
    expect(await faultOf(act)).toContain('something else');
    expect(await faultOf(() => consumeAssertion(access, admin, grace.assert(challenge), decisionOn()))).toContain(
      'begin again',
    );
  });

  test('has a text of its own', () => {
    const time = fc.option(fc.nat(3), { nil: null });
    const decisions = fc.record<Decision>(
      {
        operation: fc.constantFrom('approve', 'reject', 'change', 'revoke', 'remove passkey'),
        identifier: fc.constantFrom('a', 'b', '","operation":"'),
        permissions: fc.array(fc.constantFrom('api.lookup', 'api.leaderboard'), { maxLength: 2 }),
        rateLimits: fc.array(fc.record({ quota: fc.nat(2), windowSeconds: fc.nat(2) }), { maxLength: 2 }),
        expiresAtMs: time,
        retireOldAtMs: time,
        reason: fc.option(fc.constantFrom('', 'x'), { nil: null }),
        shown: fc.constantFrom('s', 't'),
      },
      { requiredKeys: ['operation', 'identifier', 'shown'] },
    );
    const isSame = (one: Decision, other: Decision) => Bun.deepEquals(one, other, true);
    fc.assert(
      fc.property(decisions, decisions, (one, other) => {
        expect(decisionText(one) === decisionText(other)).toBe(isSame(one, other));
        expect(decisionText({ ...one })).toBe(decisionText(one));
      }),
      { numRuns: rounds(300) },
    );
  });

  test('is refused where the key has changed since the page showed it, before the passkey is asked for and after', async () => {
    const admin = signedIn();
    const decision = decisionOn();
    const { challenge } = beginDecision(access, admin, decision, CLIENT);
    await perform(access, onBox('owner'), OPERATIONS.edit, { identifier, name: 'Another name' });
    const after = await refusal(() => consumeAssertion(access, admin, grace.assert(challenge), decision));
    expect(after.code).toBe('changed_since');
    expect((await refusal(() => beginDecision(access, admin, decision, CLIENT))).code).toBe('changed_since');
    beginDecision(access, admin, decisionOn(), CLIENT);
  });

  test('is refused five minutes later', async () => {
    const admin = signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn(), CLIENT);
    clock.advance(5 * 60_000);
    const act = () => consumeAssertion(access, admin, grace.assert(challenge), decisionOn());
    expect(await faultOf(act)).toContain('longer than five minutes');
  });

  test('is refused with a challenge of the clock before it was set back', async () => {
    const admin = signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn(), CLIENT);
    clock.advance(-3_600_000);
    const act = () => consumeAssertion(access, admin, grace.assert(challenge), decisionOn());
    expect(await faultOf(act)).toContain('longer than five minutes');
    clock.advance(3_600_000);
  });

  test('is refused with another admin’s passkey, challenge or session, and with a challenge for signing in', async () => {
    const [mine, theirs] = [signedIn(), signedIn(ada)];
    const made = () => beginDecision(access, mine, decisionOn(), CLIENT).challenge;
    expect(await faultOf(() => consumeAssertion(access, mine, ada.assert(made()), decisionOn()))).toContain(
      'not yours',
    );
    expect(await faultOf(() => consumeAssertion(access, theirs, ada.assert(made()), decisionOn()))).toContain(
      'something else',
    );
    expect(await faultOf(() => consumeAssertion(access, theirs, grace.assert(made()), decisionOn()))).toContain(
      'something else',
    );
    const { challenge } = beginSignIn(access, CLIENT);
    expect(await faultOf(() => consumeAssertion(access, mine, grace.assert(challenge), decisionOn()))).toContain(
      'something else',
    );
  });

  test.each<[string, Twist]>([
    ['another site', { party: { origin: 'https://evil.example' } }],
    ['another host', { party: { id: 'evil.example' } }],
    ['PIN', { flags: 0x01 }],
    ['counter went back', { signCount: 0 }],
    ['another purpose', { client: { type: 'webauthn.create' } }],
  ])('is refused with an assertion that was not made here as it must be: %s', async (why, twist) => {
    const admin = signedIn();
    const { challenge } = beginDecision(access, admin, decisionOn(), CLIENT);
    expect(
      await faultOf(() => consumeAssertion(access, admin, grace.assert(challenge, twist), decisionOn())),
    ).toContain(why);
  });

  test('is let through once where two processes send it at once', async () => {
    // The children have the machine's clock.
    clock.advance(Date.now() - clock.nowMs());
    const admin = signIn(access, grace).signed;
    const decision = decisionOn();
    const sent = grace.assert(beginDecision(access, admin, decision, CLIENT).challenge);
    const child = () =>
      Bun.spawn(
        [
          ...[process.execPath, '--no-env-file', join(PROJECT, 'test/shared/access/assertion-child.ts')],
          ...[access.config.databasePath, JSON.stringify({ admin, sent, decision })],
        ],
        { stdin: 'pipe', stdout: 'pipe' },
      );
    const children = [child(), child(), child()];
    const outputs = children.map(({ stdout }) => stdout.getReader());
    for (const output of outputs) await output.read();
    for (const { stdin } of children) {
      stdin.write('go\n');
      stdin.flush();
    }
    const said = await Promise.all(
      outputs.map(async (output) => new TextDecoder().decode((await output.read()).value)),
    );
    expect(said.map((text) => text.trim()).sort()).toEqual([
      'forbidden',
      'forbidden',
      JSON.stringify({ kind: 'admin', name: 'Grace', hasAsserted: true, shown: decision.shown }),
    ]);
    expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0, 0]);
  });

  test('is refused once the admin was invited anew or removed meanwhile', async () => {
    const joan = enrol(access, 'Joan');
    const ways = [
      () => inviteAdmin(access, 'Joan', { keepPasskeys: true }, onBox('root')),
      () => removeAdmin(access, 'Joan', onBox('root')),
    ];
    for (const end of ways) {
      const admin = signedIn(joan);
      const { challenge } = beginDecision(access, admin, decisionOn(), CLIENT);
      end();
      expect((await refusal(() => consumeAssertion(access, admin, joan.assert(challenge), decisionOn()))).code).toBe(
        'forbidden',
      );
      expect((await refusal(() => beginDecision(access, admin, decisionOn(), CLIENT))).code).toBe('forbidden');
    }
  });
});

describe('challenges', () => {
  const fresh = () => {
    const made = testAccess({ variables: { PUBLIC_URL: 'https://api.example.org' }, clock: testClock() });
    return { ...made, clock: made.clock as ReturnType<typeof testClock> };
  };

  test('are at most 30 a minute for an IPv4 address or an IPv6 /64, used or not', async () => {
    const world = fresh();
    for (const address of ['192.0.2.1', '2001:db8::1']) {
      for (let n = 0; n < MOST_A_MINUTE; n++) beginSignIn(world, { ...CLIENT, address });
    }
    for (const address of ['192.0.2.1', '2001:db8::ffff:1']) {
      const { code, details } = await refusal(() => beginSignIn(world, { ...CLIENT, address }));
      expect([code, details.retryAfterSeconds]).toEqual(['too_many_challenges', 60]);
    }
    beginSignIn(world, { ...CLIENT, address: '192.0.2.2' });
    beginSignIn(world, { ...CLIENT, address: '2001:db8:0:1::1' });
    world.clock.advance(60_000);
    beginSignIn(world, { ...CLIENT, address: '192.0.2.1' });
  });

  test('to sign in stay open for an admin while strangers ask for ever so many, and count for their block all the same', async () => {
    const world = fresh();
    world.sessions.sqlite.run('PRAGMA synchronous = OFF');
    const { challenge } = beginSignIn(world, CLIENT);
    const isOpen = () =>
      world.sessions.sqlite
        .query('SELECT is_used AS isUsed FROM challenges WHERE challenge_hash = ?')
        .get(hashOf(challenge));
    for (let n = 0; n < 30 * MOST_A_MINUTE; n++) beginSignIn(world, { ...CLIENT, address: `10.0.0.${n % 30}` });
    const more = await refusal(() => beginSignIn(world, { ...CLIENT, address: '10.0.0.1' }));
    expect([more.code, isOpen()]).toEqual(['too_many_challenges', { isUsed: 0 }]);
  });

  test('are at most 1000 open ones, of which people who are not signed in get 900; old ones make room', async () => {
    const world = fresh();
    const from = (n: number) => ({ ...CLIENT, address: `10.0.${n >> 8}.${n & 255}` });
    const admin = { kind: 'admin', name: 'Grace', generation: 1 } as const;
    const decide = (n: number) => makeChallenge(world, { purpose: 'decision', admin, about: 'x' }, from(n));
    world.sessions.sqlite.run('PRAGMA synchronous = OFF');
    for (let n = 0; n < MOST_OPEN_SIGN_INS; n++) beginSignIn(world, from(n));
    beginSignIn(world, from(2000));
    const open = "SELECT count(*) AS n FROM challenges WHERE purpose = 'sign-in' AND is_used = 0";
    expect(world.sessions.sqlite.query(open).get()).toEqual({ n: MOST_OPEN_SIGN_INS });
    for (let n = MOST_OPEN_SIGN_INS; n < MOST_OPEN; n++) decide(n);
    expect((await refusal(() => decide(2000))).code).toBe('too_many_challenges');
    world.clock.advance(5 * 60_000);
    beginSignIn(world, from(2000));
    const { rows } = world.sessions.sqlite.query('SELECT count(*) AS rows FROM challenges').get() as { rows: number };
    expect(rows).toBe(1);
    world.clock.advance(5 * 60_000);
    sweepSessions(world.db, world.clock, world.sessions);
    expect(world.sessions.sqlite.query('SELECT * FROM challenges').all()).toEqual([]);
  });
});

test('nobody is signed in, and no challenge is open, once the sessions file is gone', async () => {
  const world = testAccess({ variables: { PUBLIC_URL: 'https://api.example.org' } });
  const authenticator = enrol(world, 'Grace');
  const { challenge } = beginSignIn(world, CLIENT);
  world.sessions.sqlite.close();
  removeSessionsFile(world.config.databasePath);
  const again = { ...world, sessions: openSessionsFile(world.config.databasePath) };
  expect(await faultOf(() => signInByPasskey(again, authenticator.assert(challenge), CLIENT))).toContain('begin again');
  expect(signIn(again, authenticator).signed.name).toBe('Grace');
  again.sessions.sqlite.close();
});
