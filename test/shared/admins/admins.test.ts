import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { addAdmin, inviteAdmin, listAdmins, removeAdmin } from '../../../shared/admins/admins.ts';
import { openBare } from '../../../shared/db/connect.ts';
import { listLog } from '../../../shared/log.ts';
import { beginPasskeySignIn } from '../../../shared/passkeys/assertions.ts';
import { readEnrolment } from '../../../shared/passkeys/enrolments.ts';
import { listPasskeys, removePasskey } from '../../../shared/passkeys/passkeys.ts';
import {
  beginOwnRegistration,
  beginRegistration,
  register,
  registerOwn,
} from '../../../shared/passkeys/registration.ts';
import { relyingPartyOf } from '../../../shared/passkeys/relying-party.ts';
import { readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { onBox } from '../../support/actors.ts';
import { startLineChild } from '../../support/line-child.ts';
import { CLIENT, testAccess } from '../../support/portal/access.ts';
import { enrol, registerAt, secretOf, signIn } from '../../support/portal/admins.ts';
import { createAuthenticator } from '../../support/portal/authenticator.ts';
import { refusal } from '../../support/refusal.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock } from '../../support/world.ts';

const variables = { PUBLIC_URL: 'https://api.example.org' };
const OPERATOR = onBox('root');

function world() {
  const clock = testClock();
  return { ...testAccess({ clock, variables }), clock };
}

describe('an admin', () => {
  test('can sign in only after registering a passkey', async () => {
    const access = world();
    const { address, expiresAt } = addAdmin(access, 'Grace', OPERATOR);
    expect(address).toMatch(/^https:\/\/api\.example\.org\/developers\/enrol#[\w-]{43}$/);
    expect(expiresAt).toBe('2026-01-01T00:15:00.000Z');
    expect(listAdmins(access)).toMatchObject([
      { name: 'Grace', state: 'invited', invitedUntil: expiresAt, passkeys: [] },
    ]);
    expect(readEnrolment(access, secretOf(address))).toMatchObject({ name: 'Grace' });
    const authenticator = await registerAt(access, address, 'Laptop');
    const passkey = { name: 'Laptop', registeredFrom: '192.0.2.7', registeredBy: 'A browser', lastUsedAt: null };
    expect(listAdmins(access)).toMatchObject([{ state: 'registered', invitedUntil: null, passkeys: [passkey] }]);
    const { token, signed } = await signIn(access, authenticator);
    expect(readSignIn(access, token)?.person).toEqual({
      ...{ kind: 'admin', name: 'Grace' },
      generation: signed.generation,
    });
    expect(signed.name).toBe('Grace');
    expect(listAdmins(access)).toMatchObject([{ state: 'registered', passkeys: [{ lastUsedAt: expect.any(String) }] }]);
    expect(listLog(access.db, 10).map(({ kind, by }) => `${by}: ${kind}`)).toEqual([
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
      const access = testAccess({ variables: { PUBLIC_URL: url } });
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
    expect(removeAdmin(access, 'grace', OPERATOR)).toEqual({ endedPasskeys: 1 });
    expect(readSignIn(access, token)).toBeNull();
    expect((await refusal(() => signIn(access, authenticator))).message).toContain('not registered here');
    await enrol(access, 'Grace');
    expect(readSignIn(access, token)).toBeNull();
    expect((await refusal(() => signIn(access, authenticator))).code).toBe('forbidden');
    expect((await refusal(() => removeAdmin(access, 'nobody', OPERATOR))).message).toBe('There is no admin nobody.');
  });

  test('loses sessions, older links and passkeys when invited again, but not passkeys that are to be kept', async () => {
    const access = world();
    const first = await enrol(access, 'Grace');
    const { token } = await signIn(access, first);
    const older = inviteAdmin(access, 'grace', { keepPasskeys: true }, OPERATOR);
    expect(older).toMatchObject({ name: 'Grace', endedPasskeys: 0 });
    expect(readSignIn(access, token)).toBeNull();
    const { address } = inviteAdmin(access, 'Grace', { keepPasskeys: true }, OPERATOR);
    expect((await refusal(() => readEnrolment(access, secretOf(older.address)))).code).toBe('forbidden');
    await registerAt(access, address, 'Telephone');
    const again = await signIn(access, first);
    expect(inviteAdmin(access, 'Grace', { keepPasskeys: true }, OPERATOR).endedPasskeys).toBe(0);
    expect(readSignIn(access, again.token)).toBeNull();
    const last = inviteAdmin(access, 'Grace', { keepPasskeys: false }, OPERATOR);
    expect(last.endedPasskeys).toBe(2);
    expect((await refusal(() => signIn(access, first))).code).toBe('forbidden');
    expect(listAdmins(access)).toMatchObject([{ state: 'invited', passkeys: [] }]);
  });

  test('can have several passkeys and remove all but one, which ends the sessions', async () => {
    const access = world();
    const first = await enrol(access, 'Grace');
    const by = { kind: 'admin', name: 'Grace' } as const;
    const [firstId = 0] = listPasskeys(access.db, 'Grace').map(({ id }) => id);
    expect((await refusal(() => removePasskey(access, by, firstId))).message).toContain('last passkey');
    const { signed } = await signIn(access, first);
    const { challenge, party, user } = beginOwnRegistration(access, signed);
    const second = createAuthenticator(party);
    const credential = second.register(challenge, user.handle);
    await registerOwn(access, signed, { credential, name: 'Key' }, CLIENT);
    const waiting = listPasskeys(access.db, 'Grace').at(-1)?.id ?? 0;
    const stale = { ...signed, generation: -1 };
    expect((await refusal(() => beginOwnRegistration(access, stale))).code).toBe('signed_out');
    expect((await refusal(() => registerOwn(access, signed, { credential, name: 'Key' }, CLIENT))).code).toBe(
      'forbidden',
    );
    expect((await refusal(() => removePasskey(access, { ...by, generation: -1 }, firstId))).code).toBe('signed_out');
    expect((await refusal(() => removePasskey(access, { ...by, name: 'Ada' }, firstId))).code).toBe('not_found');
    const { token } = await signIn(access, first);
    removePasskey(access, by, firstId);
    expect(readSignIn(access, token)).toBeNull();
    expect((await refusal(() => signIn(access, first))).message).toContain('not registered here');
    expect((await signIn(access, second)).signed.name).toBe('Grace');
    expect((await refusal(() => removePasskey(access, by, waiting))).message).toContain('last passkey');
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
    const again = inviteAdmin(access, 'Grace', { keepPasskeys: false }, OPERATOR).address;
    await registerAt(access, again);
    for (const gone of [secret, secretOf(again), 'AAAA', '']) {
      const { code, message } = await refusal(() => readEnrolment(access, gone));
      expect([code, message]).toEqual(['forbidden', expect.stringContaining('This link is invalid or has expired')]);
      expect((await refusal(() => beginRegistration(access, gone))).message).toBe(message);
    }
    expect(listPasskeys(access.db, 'Grace').length).toBe(1);
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

  test('works for only the last invitation stored if two processes add or invite the same name at the same time', async () => {
    const access = testAccess({ variables });
    const file = join(import.meta.dir, 'admin-child.ts');
    const children = await Promise.all([0, 1].map(() => startLineChild(file, access.config.databasePath)));
    const atOnce = async (verb: string, name: string) => {
      for (const { send } of children) send(`${verb} ${name}`);
      return (await Promise.all(children.map(({ next }) => next()))) as [string, string];
    };
    const works = (address: string) =>
      listAdmins(access).some(({ name }) => {
        try {
          return readEnrolment(access, secretOf(address)).name === name;
        } catch {
          return false;
        }
      });
    for (let round = 0; round < rounds(20); round++) {
      const name = `Grace${round}`;
      const added = await atOnce('add', name);
      expect([round, added.filter((text) => text === 'refused').length]).toEqual([round, 1]);
      const [address = ''] = added.filter((text) => text !== 'refused');
      expect([round, works(address)]).toEqual([round, true]);
      for (const verb of ['invite', 'keep']) {
        const invited = await atOnce(verb, name);
        expect([round, verb, works(address)]).toEqual([round, verb, false]);
        expect([round, verb, invited.map(works).sort()]).toEqual([round, verb, [false, true]]);
      }
    }
  }, 30_000);

  test('is not used up while the database is locked', async () => {
    const access = world();
    const { address } = addAdmin(access, 'Grace', OPERATOR);
    const other = openBare(access.config.databasePath, 'write');
    other.run('BEGIN IMMEDIATE');
    access.db.$client.run('PRAGMA busy_timeout = 0');
    const locked = await refusal(registerAt(access, address));
    expect([locked.code, listPasskeys(access.db, 'Grace').length]).toEqual(['busy', 0]);
    other.run('ROLLBACK');
    other.close();
    await registerAt(access, address);
    expect(listPasskeys(access.db, 'Grace').length).toBe(1);
    expect((await refusal(() => registerAt(access, address))).code).toBe('forbidden');
  });
});
