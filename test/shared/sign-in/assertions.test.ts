import { describe, expect, test } from 'bun:test';
import { findAdmin, removeAdmin } from '../../../shared/admins.ts';
import { beginPasskeySignIn, signInByPasskey } from '../../../shared/sign-in/passkeys.ts';
import { readSignIn, sweepSignIns } from '../../../shared/sign-in/sessions.ts';
import type { Twist } from '../../support/authenticator.ts';
import { CLIENT, enrol, signIn } from '../../support/people.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

const access = testDeps({ variables: { PUBLIC_URL: 'https://api.example.org' }, clock: testClock() });
const grace = await enrol(access, 'Grace');

/** The outcomes of three tries of which one succeeds. */
const ONCE: ('fulfilled' | 'rejected')[] = ['fulfilled', 'rejected', 'rejected'];

const faultOf = async (act: () => unknown) => (await refusal(act)).message;

describe('a sign-in', () => {
  test.each<[string, Twist]>([
    ['another site', { client: { origin: 'https://evil.example' } }],
    ['another host', { host: 'evil.example' }],
    ['counter went back', { signCount: 0 }],
  ])('is refused with an assertion that is not valid here: %s', async (why, twist) => {
    await signIn(access, grace);
    const { challenge } = beginPasskeySignIn(access);
    expect(await faultOf(() => signInByPasskey(access, grace.assert(challenge, twist), CLIENT))).toContain(why);
  });

  test('is refused if the admin is removed while the signature is verified', async () => {
    const mary = await enrol(access, 'Mary');
    const { challenge } = beginPasskeySignIn(access);
    const verified = refusal(signInByPasskey(access, mary.assert(challenge), CLIENT));
    removeAdmin(access, findAdmin(access.db, 'Mary'), onBox('root'));
    expect((await verified).code).toBe('forbidden');
  });

  test('happens once if one process receives the same assertion several times at once', async () => {
    const jean = await enrol(access, 'Jean');
    // This authenticator has no counter: only the challenge prevents a second use of the assertion.
    const entered = jean.assert(beginPasskeySignIn(access).challenge, { signCount: 0 });
    const act = () => signInByPasskey(access, entered, CLIENT);
    const outcomes = await Promise.allSettled([act(), act(), act()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(ONCE);
  });
});

describe('challenges', () => {
  const fresh = () => {
    const made = testDeps({ variables: { PUBLIC_URL: 'https://api.example.org' }, clock: testClock() });
    return { ...made, clock: made.clock as ReturnType<typeof testClock> };
  };

  test('of an admin work however many strangers request, and whatever passkeys they try', async () => {
    const world = fresh();
    const authenticator = await enrol(world, 'Grace');
    const { challenge } = beginPasskeySignIn(world);
    const others = Array.from({ length: 2_000 }, () => beginPasskeySignIn(world).challenge);
    expect(new Set(others).size).toBe(2_000);
    for (const other of others.slice(0, 100)) {
      expect(await faultOf(() => signInByPasskey(world, grace.assert(other), CLIENT))).toContain('not registered here');
    }
    const token = await signInByPasskey(world, authenticator.assert(challenge), CLIENT);
    expect(readSignIn(world, token)?.name).toBe('Grace');
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
    for (const jumpMs of [60_000, 3_600_000, 11 * 3_600_000]) {
      world.clock.advance(jumpMs);
      sweepSignIns(world);
      expect(await again()).toContain('start again');
    }
    const [early, late] = [beginPasskeySignIn(world).challenge, beginPasskeySignIn(world).challenge];
    world.clock.advance(5 * 60_000 - 1);
    expect(await signInByPasskey(world, authenticator.assert(early, { signCount: 0 }), CLIENT)).toHaveLength(43);
    world.clock.advance(1);
    expect(await enter(late)).toContain('longer than five minutes');
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
});
