import { describe, expect, test } from 'bun:test';
import { addAdmin, findAdmin, listAdmins, removeAdmin } from '../../../shared/admins.ts';
import { openAsItIs } from '../../../shared/db/connect.ts';
import { readLog } from '../../../shared/log.ts';
import {
  beginPasskeySignIn,
  beginRegistration,
  listPasskeys,
  readEnrolment,
  register,
  removePasskey,
} from '../../../shared/sign-in/passkeys.ts';
import { readSignIn } from '../../../shared/sign-in/sessions.ts';
import { relyingPartyOf } from '../../../shared/sign-in/webauthn.ts';
import { createAuthenticator } from '../../support/authenticator.ts';
import { waitingWhile } from '../../support/keys.ts';
import { CLIENT, enrol, registerAt, secretOf, signIn } from '../../support/people.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

const variables = { PUBLIC_URL: 'https://api.example.org' };
const OPERATOR = onBox('root');

function world() {
  const clock = testClock();
  return { ...testDeps({ clock, variables }), clock };
}

const passkeysOf = ({ db }: ReturnType<typeof world>) => listPasskeys(db, findAdmin(db, 'Grace').id).length;

describe('an admin', () => {
  test('can sign in only after registering a passkey', async () => {
    const access = world();
    const { address, expiresAt } = addAdmin(access, 'Grace', OPERATOR);
    expect(address).toMatch(/^https:\/\/api\.example\.org\/developers\/enrol#[\w-]{43}$/);
    expect(expiresAt).toBe('2026-01-01T00:15:00.000Z');
    expect(listAdmins(access)).toMatchObject([
      { name: 'Grace', state: 'invited', invitedUntil: expiresAt, passkeys: [] },
    ]);
    expect(readEnrolment(access, secretOf(address)).admin).toMatchObject({ name: 'Grace' });
    const authenticator = await registerAt(access, address, 'Laptop');
    const passkey = { name: 'Laptop', registeredFrom: '192.0.2.7', registeredBy: 'A browser', lastUsedAt: null };
    expect(listAdmins(access)).toMatchObject([{ state: 'registered', invitedUntil: null, passkeys: [passkey] }]);
    const { session } = await signIn(access, authenticator);
    expect(session.person).toEqual({ kind: 'admin', name: 'Grace', signInId: session.id });
    expect(listAdmins(access)).toMatchObject([{ state: 'registered', passkeys: [{ lastUsedAt: expect.any(String) }] }]);
    expect(readLog(access.db, 10).entries.map(({ kind, by }) => `${by}: ${kind}`)).toEqual([
      'admin Grace: admin-passkey-registered',
      'root (on the box): admin-added',
    ]);
  });

  test('needs a valid name that no other admin has in any spelling', async () => {
    const access = world();
    addAdmin(access, 'Grace', OPERATOR);
    expect((await refusal(() => addAdmin(access, 'ｇrace', OPERATOR))).code).toBe('refused');
    for (const name of ['', ' x', 'a\u0000b', 'x'.repeat(65), 'a\u202eb', 'a/b']) {
      expect((await refusal(() => addAdmin(access, name, OPERATOR))).code).toBe('usage');
    }
    expect(listAdmins(access).map(({ name }) => name)).toEqual(['Grace']);
  });

  test('can’t be added if browsers don’t support passkeys for PUBLIC_URL, and the sentence says what to set', async () => {
    for (const [url, sentence] of [
      ['http://127.0.0.1:3000', /don't support passkeys for IP addresses.*http:\/\/localhost:3000/],
      ['https://[2001:db8::1]', /don't support passkeys for IP addresses/],
      ['http://api.example.org', /only over HTTPS/],
    ] as const) {
      const access = testDeps({ variables: { PUBLIC_URL: url } });
      expect((await refusal(() => addAdmin(access, 'Grace', OPERATOR))).message).toMatch(sentence);
      expect(listAdmins(access)).toEqual([]);
    }
    expect(relyingPartyOf('http://localhost:3000/p')).toEqual({ id: 'localhost', origin: 'http://localhost:3000' });
    expect(relyingPartyOf('https://api.example.org')).toEqual({
      id: 'api.example.org',
      origin: 'https://api.example.org',
    });
  });

  test('is signed out at once when removed, and is a new person if added again under the same name', async () => {
    const access = world();
    const authenticator = await enrol(access, 'Grace');
    const { token } = await signIn(access, authenticator);
    expect(removeAdmin(access, findAdmin(access.db, 'grace'), OPERATOR)).toEqual({ endedPasskeys: 1 });
    expect(readSignIn(access, token)).toBeNull();
    expect((await refusal(() => signIn(access, authenticator))).message).toContain('not registered here');
    await enrol(access, 'Grace');
    expect(readSignIn(access, token)).toBeNull();
    expect((await refusal(() => signIn(access, authenticator))).code).toBe('forbidden');
    expect((await refusal(() => findAdmin(access.db, 'nobody'))).message).toBe('There is no admin nobody.');
  });

  test('can have several passkeys and remove all but one, which ends the sessions', async () => {
    const access = world();
    const first = await enrol(access, 'Grace');
    const { session, token } = await signIn(access, first);
    const { id: adminId } = findAdmin(access.db, 'Grace');
    const [firstId = 0] = listPasskeys(access.db, adminId).map(({ id }) => id);
    expect((await refusal(() => removePasskey(access, session, firstId))).message).toContain('last passkey');
    const { challenge, party, user } = beginRegistration(access, session);
    const second = createAuthenticator(party);
    const sent = { credential: second.register(challenge, user.handle), name: 'Key' };
    await register(access, session, sent, CLIENT);
    const secondId = listPasskeys(access.db, adminId).at(-1)?.id ?? 0;
    expect((await refusal(() => register(access, session, sent, CLIENT))).code).toBe('forbidden');
    const others = (await signIn(access, await enrol(access, 'Ada'))).session;
    expect((await refusal(() => removePasskey(access, others, firstId))).code).toBe('not_found');
    removePasskey(access, session, firstId);
    expect(readSignIn(access, token)).toBeNull();
    for (const act of [
      () => beginRegistration(access, session),
      () => register(access, session, sent, CLIENT),
      () => removePasskey(access, session, secondId),
    ]) {
      expect((await refusal(act)).code).toBe('signed_out');
    }
    expect((await refusal(() => signIn(access, first))).message).toContain('not registered here');
    const again = (await signIn(access, second)).session;
    expect(again.name).toBe('Grace');
    expect((await refusal(() => removePasskey(access, again, secondId))).message).toContain('last passkey');
  });
});

describe('a link for registering a passkey', () => {
  test('works once, for 15 minutes, and opening it changes nothing', async () => {
    const access = world();
    const { address } = addAdmin(access, 'Grace', OPERATOR);
    const secret = secretOf(address);
    for (let look = 0; look < 3; look++) readEnrolment(access, secret);
    access.clock.advance(15 * 60_000 - 1);
    const { challenge, party, user } = beginRegistration(access, secret);
    const sent = { credential: createAuthenticator(party).register(challenge, user.handle), name: 'Laptop' };
    access.clock.advance(1);
    expect((await refusal(() => register(access, secret, sent, CLIENT))).message).toContain(
      'This link is invalid or has expired',
    );
    removeAdmin(access, findAdmin(access.db, 'Grace'), OPERATOR);
    const again = addAdmin(access, 'Grace', OPERATOR).address;
    await registerAt(access, again);
    for (const gone of [secret, secretOf(again), 'AAAA', '']) {
      const { code, message } = await refusal(() => readEnrolment(access, gone));
      expect([code, message]).toEqual(['forbidden', expect.stringContaining('This link is invalid or has expired')]);
      expect((await refusal(() => beginRegistration(access, gone))).message).toBe(message);
    }
    expect(passkeysOf(access)).toBe(1);
  });

  test('is not used up by a refused registration', async () => {
    const access = world();
    const secret = secretOf(addAdmin(access, 'Grace', OPERATOR).address);
    const other = secretOf(addAdmin(access, 'Ada', OPERATOR).address);
    const { challenge, party, user } = beginRegistration(access, secret);
    const authenticator = createAuthenticator(party);
    const credential = authenticator.register(challenge, user.handle);
    expect((await refusal(() => register(access, secret, { credential, name: '' }, CLIENT))).code).toBe('usage');
    expect((await refusal(() => register(access, other, { credential, name: 'x' }, CLIENT))).message).toContain(
      'start again',
    );
    expect((await refusal(() => register(access, secret, { credential, name: 'x' }, CLIENT))).message).toContain(
      'sent twice',
    );
    const signInChallenge = beginPasskeySignIn(access).challenge;
    const foreign = { credential: authenticator.register(signInChallenge, user.handle), name: 'x' };
    expect((await refusal(() => register(access, secret, foreign, CLIENT))).message).toContain('start again');
    const address = (of: string) => `https://api.example.org/developers/enrol#${of}`;
    await registerAt(access, address(secret), 'x', authenticator);
    const again = await refusal(() => registerAt(access, address(other), 'x', authenticator));
    expect(again.message).toContain('already registered');
    await registerAt(access, address(other));
  });

  test('is not used up while the database is locked', async () => {
    const access = world();
    const { address } = addAdmin(access, 'Grace', OPERATOR);
    const other = openAsItIs(access.config.databasePath, 'write');
    other.run('BEGIN IMMEDIATE');
    access.db.$client.run('PRAGMA busy_timeout = 0');
    const locked = await refusal(registerAt(access, address));
    expect([locked.code, passkeysOf(access)]).toEqual(['busy', 0]);
    other.run('ROLLBACK');
    other.close();
    await registerAt(access, address);
    expect(passkeysOf(access)).toBe(1);
    expect((await refusal(() => registerAt(access, address))).code).toBe('forbidden');
  });

  test('or a session begins no registration if the admin is removed while that waits for the lock', async () => {
    for (const byLink of [true, false]) {
      const access = world();
      const at = byLink
        ? secretOf(addAdmin(access, 'Grace', OPERATOR).address)
        : (await signIn(access, await enrol(access, 'Grace'))).session;
      const waiting = waitingWhile(access, () => removeAdmin(access, findAdmin(access.db, 'Grace'), OPERATOR));
      const { code } = await refusal(() => beginRegistration(waiting, at));
      expect(code).toBe(byLink ? 'forbidden' : 'signed_out');
    }
  });
});
