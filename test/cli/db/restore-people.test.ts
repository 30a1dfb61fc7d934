import { expect, test } from 'bun:test';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inviteAdmin, listAdmins, removeAdmin } from '../../../shared/admins/admins.ts';
import { listLog } from '../../../shared/admins/audit-log.ts';
import { readBackendToken, removeToken } from '../../../shared/backends/backend-tokens.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { closeSessionsFile, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { onBox } from '../../support/actors.ts';
import { commandEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { runCommand } from '../../support/machine/command.ts';
import { enrol, registerAt, signIn } from '../../support/portal/admins.ts';
import { tokenFor } from '../../support/portal/manage.ts';
import { refusal } from '../../support/refusal.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { tempFolder, testConfig } from '../../support/world.ts';

const OPERATOR = onBox('root');

/** Runs `act` with the database and its sessions file open. */
async function withAccess<T>(db: string, act: (access: Access) => T | Promise<T>): Promise<T> {
  const opened = withTables(openDatabase(db, 'fill'));
  const sessions = openSessionsFile(db);
  try {
    const config = testConfig({ DATABASE_PATH: db, PUBLIC_URL: 'https://api.example.org' });
    return await act({ ...createDeps(opened, config), sessions });
  } finally {
    closeSessionsFile(sessions);
    opened.$client.close();
    // Statements that Drizzle has prepared keep the file open until they are collected, which would block a restore.
    Bun.gc(true);
  }
}

const stateOf = (db: string) =>
  withAccess(db, (access) =>
    listAdmins(access).map(({ name, passkeys }) => `${name}: ${passkeys.map((one) => one.name).join(', ')}`),
  );

const logOf = (db: string) =>
  withAccess(db, (access) => listLog(access.db, 4).map(({ text, written }) => `${text} ${written}`.trim()));

/**
 * A database whose backup has Grace with two passkeys, Mallory, who is signed in, and two tokens. Since then, Mallory, one
 * passkey of Grace and one token were removed, and another Mallory was added.
 */
async function world() {
  const folder = tempFolder();
  const db = join(folder, 'profiles.db');
  const file = join(folder, 'backup.sqlite');
  const run = (...words: string[]) => profilectl([...words, '--db', db]);
  const made = await withAccess(db, async (access) => {
    const laptop = await enrol(access, 'Grace');
    await registerAt(access, inviteAdmin(access, 'Grace', { keepPasskeys: true }, OPERATOR).address, 'Telephone');
    const mallory = await enrol(access, 'Mallory');
    const tokens = { kept: tokenFor(access, { name: 'kept' }), removed: tokenFor(access, { name: 'removed' }) };
    return { laptop, mallory, token: (await signIn(access, mallory)).token, ...tokens };
  });
  expect((await runCommand(['db', 'backup', file, '--db', db])).code).toBe(0);
  await withAccess(db, async (access) => {
    removeAdmin(access, 'Mallory', OPERATOR);
    await enrol(access, 'Mallory');
    access.db.$client.run("DELETE FROM passkeys WHERE name = 'Telephone'");
    removeToken(access, made.removed.slice(4, 12), OPERATOR);
  });
  return { folder, db, file, run, ...made };
}

test('a restore leaves out admins, passkeys and tokens that were removed since the backup, and names them', async () => {
  const { db, file, run, mallory, token, laptop, kept, removed } = await world();
  const identifier = removed.slice(4, 12);
  const done = await run('db', 'restore', file, '--yes');
  expect(done.code).toBe(0);
  expect(done.stderr).toContain('Left out, because the old database does not have them');
  expect(done.stderr).toContain(
    `admin Mallory, passkey "Telephone" of admin Grace, token ${identifier} of backend removed.`,
  );
  expect(await stateOf(db)).toEqual(['Grace: Laptop']);
  expect(await logOf(db)).toEqual([
    'Restored the database from a backup',
    'Left a passkey of admin Grace out of a restore Telephone',
    'Left admin Mallory out of a restore',
    `Left the token ${identifier} of the backend removed out of a restore`,
  ]);
  await withAccess(db, async (access) => {
    expect(readSignIn(access, token)).toBeNull();
    expect((await refusal(signIn(access, mallory))).message).toContain('not registered here');
    expect((await signIn(access, laptop)).signed.name).toBe('Grace');
    expect([kept, removed].map((one) => readBackendToken(access.db, one)?.name)).toEqual(['kept', undefined]);
  });
  expect((await run('db', 'check')).code).toBe(0);
});

test('if the database is missing or unreadable, everyone is restored, and named with the command that removes each', async () => {
  const { folder, db, file, run, mallory, token, kept, removed } = await world();
  const elsewhere = join(folder, 'elsewhere.db');
  const identifiers = [kept, removed].map((one) => one.slice(4, 12));
  const done = await profilectl(['db', 'restore', file, '--yes', '--json', '--db', elsewhere]);
  expect(JSON.parse(done.stdout).people).toEqual({
    admins: ['Grace', 'Mallory'],
    passkeys: [],
    tokens: expect.arrayContaining(identifiers.map((identifier) => expect.objectContaining({ identifier }))),
    areRestored: true,
  });
  const removing = [
    'admins remove Grace',
    'admins remove Mallory',
    ...identifiers.map((one) => `tokens remove ${one}`),
  ];
  for (const words of removing) expect(done.stderr).toContain(`  profilectl ${words}`);
  expect(await stateOf(elsewhere)).toEqual(['Grace: Laptop, Telephone', 'Mallory: Laptop']);
  expect((await logOf(elsewhere)).slice(2)).toEqual([
    'Restored admin Grace from a backup',
    expect.stringContaining(' from a backup'),
  ]);
  for (const suffix of ['', '-wal', '-shm']) rmSync(db + suffix, { force: true });
  await Bun.write(db, 'the disk has eaten it '.repeat(1000));
  expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
  await withAccess(db, async (access) => {
    expect(readSignIn(access, token)).toBeNull();
    expect((await signIn(access, mallory)).signed.name).toBe('Mallory');
    expect(readBackendToken(access.db, removed)?.name).toBe('removed');
  });
});

test('a restore that is killed at any moment never leaves a database with people who should be left out', async () => {
  const { folder, db, file, run } = await world();
  const before = await stateOf(db);
  const startedMs = performance.now();
  expect((await profilectl(['db', 'restore', file, '--yes', '--db', join(folder, 'other.db')])).code).toBe(0);
  const usualMs = performance.now() - startedMs;
  const kills = rounds(5);
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
    const state = await stateOf(db);
    if (!Bun.deepEquals(state, before)) expect(state).toEqual(['Grace: Laptop']);
  }
  expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
  expect(await stateOf(db)).toEqual(['Grace: Laptop']);
});
