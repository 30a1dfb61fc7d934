import { expect, test } from 'bun:test';
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findAdmin, listAdmins, removeAdmin } from '../../../shared/admins.ts';
import { readConfig } from '../../../shared/config/config.ts';
import { openAsItIs } from '../../../shared/db/connect.ts';
import { write } from '../../../shared/db/write.ts';
import { createDeps, type Deps } from '../../../shared/deps.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { readLog } from '../../../shared/log.ts';
import { invite } from '../../../shared/sign-in/passkeys.ts';
import { readSignIn } from '../../../shared/sign-in/sessions.ts';
import { readBackendToken, removeToken } from '../../../shared/tokens.ts';
import { commandEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { issue, moveByAdmin, request } from '../../support/keys.ts';
import { addBackend, enrol, registerAt, signIn } from '../../support/people.ts';
import { eraseProfile, importLines } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { onBox, refusal, tempFolder } from '../../support/world.ts';

// A restore with a database whose profiles, keys and people were ended since the backup was made.

const OPERATOR = onBox('root');
/** What keys had spent in the database. */
const SPENT = '{"whole":[],"since":[]}';
const MAILS = tempFolder();
const NAMES = ['ada', 'bob', 'cem', 'dan', 'eve'];

/** Runs `act` with the database open. */
async function withAccess<T>(db: string, act: (access: Deps) => T | Promise<T>): Promise<T> {
  const opened = openDatabase(db, 'fill');
  try {
    const config = readConfig({ DATABASE_PATH: db, PUBLIC_URL: 'https://api.example.org', MAIL_URL: `file:${MAILS}` });
    return await act(createDeps(opened, config));
  } finally {
    opened.$client.close();
    // Statements that Drizzle has prepared keep the file open until they are collected, which would block a restore.
    Bun.gc(true);
  }
}

/** A folder with such a database and backup; no process has them open. */
async function prepare() {
  const folder = tempFolder();
  const db = join(folder, 'profiles.db');
  const file = join(folder, 'backup.sqlite');
  const made = await withAccess(db, async (access) => {
    await importLines(
      access,
      NAMES.map((username, at) => ({ id: at + 1, username, email: `${username}@example.org` })),
    );
    // Dan was erased before the backup, and came back.
    await importLines(access, [{ id: 4, deleted: true }]);
    await importLines(access, [{ id: 4, username: 'dan' }]);
    const keys = {
      erased: (await issue(access, { profile: 'ada' })).identifier,
      suspended: (await issue(access, { profile: 'bob' })).identifier,
      revoked: (await issue(access, { profile: 'bob' })).identifier,
      untouched: (await issue(access, { profile: 'bob' })).identifier,
      rejected: await request(access, { profile: 'cem' }),
      withdrawn: await request(access, { profile: 'cem' }),
      decided: await request(access, { profile: 'cem' }),
    };
    const laptop = await enrol(access, 'Grace');
    const { address } = write(access.db, (tx) => invite(tx, access, findAdmin(tx, 'Grace')));
    await registerAt(access, address, 'Telephone');
    const mallory = await enrol(access, 'Mallory');
    const tokens = {
      kept: addBackend(access, { name: 'kept' }).token,
      removed: addBackend(access, { name: 'removed' }).token,
    };
    return { keys, laptop, mallory, token: (await signIn(access, mallory)).token, ...tokens };
  });
  expect((await profilectl(['db', 'backup', file, '--db', db])).code).toBe(0);
  await withAccess(db, async (access) => {
    const { keys } = made;
    const reason = 'No longer.';
    eraseProfile(access, 'ada', OPERATOR);
    expect((await profilectl(['profiles', 'ban', 'eve', '--db', db])).code).toBe(0);
    moveByAdmin(access, keys.suspended, 'suspend');
    moveAndNotify(access, 'revoke', { identifier: keys.revoked, reason, by: OPERATOR });
    moveAndNotify(access, 'reject', { identifier: keys.rejected, reason, by: OPERATOR });
    moveAndNotify(access, 'withdraw', { identifier: keys.withdrawn, by: OPERATOR });
    removeAdmin(access, findAdmin(access.db, 'Mallory'), OPERATOR);
    await enrol(access, 'Mallory');
    access.db.$client.run("DELETE FROM passkeys WHERE name = 'Telephone'");
    removeToken(access, made.removed.slice(4, 12), OPERATOR);
    access.db.$client.run('INSERT INTO key_quotas (id, at, spent) VALUES (5, 7, ?)', [SPENT]);
  });
  rmSync(`${db}.lock`, { force: true });
  return { folder, ...made };
}

const prepared = await prepare();

function world() {
  const folder = tempFolder();
  cpSync(prepared.folder, folder, { recursive: true });
  const db = join(folder, 'profiles.db');
  const file = join(folder, 'backup.sqlite');
  const restore = (path = db) => profilectl(['db', 'restore', file, '--yes', '--json', '--db', path]);
  return { ...prepared, folder, db, file, restore };
}

const peopleIn = (db: string) =>
  withAccess(db, (access) =>
    listAdmins(access).map(({ name, passkeys }) => `${name}: ${passkeys.map((one) => one.name).join(', ')}`),
  );

const statesIn = (db: string) => {
  const sqlite = openAsItIs(db, 'read');
  const keys = sqlite.query('SELECT identifier, state FROM api_keys').values() as [string, string][];
  const profiles = sqlite.query('SELECT username, banned FROM profiles ORDER BY id').values() as [string, number][];
  sqlite.close();
  return {
    keys: new Map(keys),
    profiles: profiles.map(([name, banned]) => (banned === 1 ? `${name} (banned)` : name)),
  };
};

test('what was ended since the backup stays ended, and is named', async () => {
  const { db, file, keys, mallory, token, laptop, kept, removed, restore } = world();
  const erasedAt = () => {
    const sqlite = openAsItIs(db, 'read');
    const rows = sqlite.query('SELECT id, at FROM erased_profiles WHERE id = 1').values();
    sqlite.close();
    return rows;
  };
  const before = erasedAt();
  const identifier = removed.slice(4, 12);
  const done = await restore();
  expect(done.code).toBe(0);
  const ended = JSON.parse(done.stdout).kept;
  expect({ ...ended, keys: ended.keys.toSorted() }).toEqual({
    erased: [1],
    banned: [5],
    keys: [keys.suspended, keys.revoked, keys.rejected, keys.withdrawn].toSorted(),
    admins: ['Mallory'],
    passkeys: [{ admin: 'Grace', name: 'Telephone' }],
    tokens: [{ name: 'removed', identifier }],
  });
  expect(done.stderr).toContain('What had ended since the backup stays so:\n  profiles erased: UID 1\n');
  expect(done.stderr).toContain(
    `  passkeys removed: "Telephone" of Grace\n  tokens removed: ${identifier} of removed\n`,
  );
  const found = statesIn(db);
  expect(found.profiles).toEqual(['bob', 'cem', 'dan', 'eve (banned)']);
  expect(Object.fromEntries(Object.entries(keys).map(([what, one]) => [what, found.keys.get(one)]))).toEqual({
    erased: 'revoked',
    suspended: 'suspended',
    revoked: 'revoked',
    untouched: 'Active',
    rejected: 'rejected',
    withdrawn: 'withdrawn',
    decided: 'pending',
  });
  // An older file must not bring the profile back, and its text goes with the next VACUUM.
  expect(erasedAt()).toEqual(before);
  expect(JSON.parse((await profilectl(['status', '--json', '--db', db])).stdout).isVacuumWanted).toBe(true);
  expect(await peopleIn(db)).toEqual(['Grace: Laptop']);
  await withAccess(db, async (access) => {
    expect(readSignIn(access, token)).toBeNull();
    expect((await refusal(signIn(access, mallory))).message).toContain('not registered here');
    expect((await signIn(access, laptop)).session.name).toBe('Grace');
    expect([kept, removed].map((one) => readBackendToken(access.db, one)?.name)).toEqual(['kept', undefined]);
    expect(readLog(access.db, 4).entries.map(({ text }) => text)).toContain('Restored the database from a backup');
  });
  expect((await profilectl(['db', 'check', '--db', db])).code).toBe(0);
  const sqlite = openAsItIs(db, 'read');
  expect(sqlite.query('SELECT id, at, spent FROM key_quotas').values()).toEqual([[5, 7, SPENT]]);
  sqlite.close();
  // A second one finds nothing more to end.
  expect((await profilectl(['db', 'backup', `${file}2`, '--db', db])).code).toBe(0);
  const again = await profilectl(['db', 'restore', `${file}2`, '--yes', '--db', db]);
  expect(again.stderr).toContain('Nothing of the backup has ended since.');
}, 60_000);

test.each([
  ['missing', null],
  ['unreadable', 'the disk has eaten it '.repeat(1_000)],
])(
  'if the database is %s, everything is as in the backup, and each admin and token is named with the command that removes it',
  async (what, content) => {
    const { folder, keys, mallory, token, kept, removed, restore } = world();
    const elsewhere = join(folder, 'elsewhere.db');
    if (content !== null) writeFileSync(elsewhere, content);
    const done = await restore(elsewhere);
    expect(JSON.parse(done.stdout)).toMatchObject({
      replaced: content === null ? null : { isReadable: false },
      kept: { erased: [], banned: [], keys: [], admins: ['Grace', 'Mallory'] },
    });
    expect(done.stderr).toContain(
      what === 'missing' ? 'There was no database here: nothing' : "can't be read: nothing",
    );
    const removing = ['admins remove Grace', 'admins remove Mallory'];
    for (const one of [kept, removed]) removing.push(`tokens remove ${one.slice(4, 12)}`);
    for (const words of removing) expect(done.stderr).toContain(`  profilectl ${words}`);
    expect(statesIn(elsewhere).profiles).toEqual(NAMES);
    expect(statesIn(elsewhere).keys.get(keys.revoked)).toBe('Active');
    expect(await peopleIn(elsewhere)).toEqual(['Grace: Laptop, Telephone', 'Mallory: Laptop']);
    await withAccess(elsewhere, async (access) => {
      expect(readSignIn(access, token)).toBeNull();
      expect((await signIn(access, mallory)).session.name).toBe('Mallory');
    });
  },
  60_000,
);

test('a restore that is killed at any moment leaves the old database, or the new one with what had ended', async () => {
  const { folder, db, file, restore } = world();
  const before = [await peopleIn(db), statesIn(db).profiles];
  const after = [['Grace: Laptop'], ['bob', 'cem', 'dan', 'eve (banned)']];
  const startedMs = performance.now();
  expect((await restore(join(folder, 'other.db'))).code).toBe(0);
  const usualMs = performance.now() - startedMs;
  const kills = rounds(2);
  const random = seededRandom('killed restores');
  for (let kill = 0; kill < kills; kill++) {
    const child = Bun.spawn(profilectlWords(['db', 'restore', file, '--yes', '--db', db]), {
      env: commandEnvironment(),
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    await Promise.race([child.exited, Bun.sleep(usualMs * (0.4 + (0.6 * (kill + random())) / kills))]);
    child.kill('SIGKILL');
    await child.exited;
    expect(existsSync(db)).toBe(true);
    const state = [await peopleIn(db), statesIn(db).profiles];
    if (!Bun.deepEquals(state, before)) expect(state).toEqual(after);
  }
  expect((await restore()).code).toBe(0);
  expect([await peopleIn(db), statesIn(db).profiles]).toEqual(after);
}, 60_000);
