import { expect, test } from 'bun:test';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, systemClock } from '../../../shared/clock.ts';
import { openBare } from '../../../shared/db/connect.ts';
import { AppError } from '../../../shared/errors.ts';
import { copyDatabase } from '../../../shared/files/copy.ts';
import { prepareRestore } from '../../../shared/files/restore.ts';
import { readStatus } from '../../../shared/files/status.ts';
import {
  closeSessionsFile,
  openSessionsFile,
  removeSessionsFile,
} from '../../../shared/sessions-file/sessions-file.ts';
import { sessionsPath } from '../../../shared/sessions-file/sessions-path.ts';
import { requestCode } from '../../../shared/sign-in/codes.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { beginSignIn, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { onBox } from '../../support/actors.ts';
import { profilectl } from '../../support/cli.ts';
import { importLines } from '../../support/import.ts';
import { mountSmallDisk, NO_MOUNT } from '../../support/machine/small-disk.ts';
import { CLIENT, testAccess } from '../../support/portal/access.ts';
import { countSignInRows, countTickets } from '../../support/portal/sessions-rows.ts';
import { tempFolder, testClock, testDeps } from '../../support/world.ts';

const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };

/** A service with one profile, whose owner is signed in. */
async function world() {
  const clock = testClock(systemClock.nowMs());
  const access = testAccess({ clock });
  await importLines(access, [ADA]);
  const signIn = () => {
    const owner = ownerToSign(access, 1);
    if (owner === null) throw new Error('no such profile');
    return beginSignIn(access, owner, CLIENT);
  };
  return { access, clock, signIn, token: signIn().token, databasePath: access.config.databasePath };
}

/** The AppError that a function throws. */
function refusalOf(act: () => unknown): AppError {
  try {
    act();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

test('a damaged file, or one of another program, is left unchanged; the sentence names it and says what to do', () => {
  const { config } = testDeps();
  const path = sessionsPath(config.databasePath);
  writeFileSync(path, 'this is not a database, though long enough to be one'.repeat(100));
  expect(refusalOf(() => openSessionsFile(config.databasePath)).message).toBe(
    `The sessions file ${path} can't be read (SQLITE_NOTADB); nobody can sign in. Stop the server and move the file away: the server then creates a new one, and everybody has to sign in again.`,
  );
  expect(readFileSync(path, 'utf8')).toStartWith('this is not a database');
  rmSync(path);
  const foreign = openBare(':memory:', 'write');
  foreign.run('CREATE TABLE theirs (text TEXT)');
  writeFileSync(path, foreign.serialize());
  foreign.close();
  const { code, message } = refusalOf(() => openSessionsFile(config.databasePath));
  expect([code, message]).toEqual(['refused', expect.stringContaining('it belongs to another program')]);
});

test.skipIf(process.getuid?.() !== 0)('root gives the file to the owner of the database', () => {
  const { config } = testDeps();
  Bun.spawnSync(['chown', '12345:12345', config.databasePath]);
  const file = openSessionsFile(config.databasePath);
  for (const suffix of ['', '-wal', '-shm'])
    expect(statSync(sessionsPath(config.databasePath) + suffix).uid).toBe(12345);
  closeSessionsFile(file);
});

test('while another process holds the lock, a sign-in is refused as busy and stores nothing', async () => {
  const { access, token } = await world();
  const other = openBare(access.sessions.path, 'write');
  access.sessions.sqlite.run('PRAGMA busy_timeout = 20');
  other.run('BEGIN IMMEDIATE');
  const ask = () =>
    requestCode(access, { name: 'ada', address: ADA.email, browserSecret: null, knownBrowser: null, client: CLIENT });
  expect(refusalOf(ask).code).toBe('busy');
  expect(readSignIn(access, token)).not.toBeNull();
  other.run('ROLLBACK');
  ask();
  expect(countTickets(other, 'sign-in code')).toBe(1);
  other.close();
});

test.skipIf(NO_MOUNT !== null)(
  'on a full disk nobody can sign in, existing sessions keep working, and it recovers once there is space',
  async () => {
    const disk = mountSmallDisk(4 * 1024 * 1024);
    const { access } = await world();
    // Only the sessions file is on the full disk.
    writeFileSync(join(disk.folder, 'profiles.db'), '');
    const sessions = openSessionsFile(join(disk.folder, 'profiles.db'));
    const full = { ...access, sessions };
    const owner = ownerToSign(full, 1);
    if (owner === null) throw new Error('no such profile');
    const { token } = beginSignIn(full, owner, CLIENT);
    disk.fill();
    const begin = () => {
      for (let turn = 0; turn < 2_000; turn++) beginSignIn(full, owner, CLIENT);
    };
    expect(refusalOf(begin).message).toContain('No space is left on the disk');
    expect(readSignIn(full, token)).not.toBeNull();
    disk.empty();
    expect(readSignIn(full, beginSignIn(full, owner, CLIENT).token)).not.toBeNull();
    closeSessionsFile(sessions);
  },
);

test('without the file everybody is signed out, but nothing else is lost', async () => {
  const { access, token, databasePath } = await world();
  closeSessionsFile(access.sessions);
  removeSessionsFile(databasePath);
  const sessions = openSessionsFile(databasePath);
  const reopened = { ...access, sessions };
  expect(readSignIn(reopened, token)).toBeNull();
  const owner = ownerToSign(reopened, 1);
  if (owner === null) throw new Error('no such profile');
  expect(readSignIn(reopened, beginSignIn(reopened, owner, CLIENT).token)).not.toBeNull();
  closeSessionsFile(sessions);
});

test('backups do not contain it, and a restore removes it', async () => {
  const { access, databasePath } = await world();
  const backup = join(access.folder, 'backup.db');
  copyDatabase(access.db.$client, backup, () => {});
  expect(readFileSync(backup, 'latin1')).not.toContain(CLIENT.address);
  expect(existsSync(`${backup}.sessions`)).toBe(false);
  // A copy, since a restore requires a database that nobody has open.
  const copy = join(tempFolder(), 'profiles.db');
  for (const sqlite of [access.db.$client, access.sessions.sqlite]) sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
  copyFileSync(databasePath, copy);
  for (const suffix of ['', '-wal', '-shm'])
    copyFileSync(sessionsPath(databasePath) + suffix, `${copy}.sessions${suffix}`);
  const restore = prepareRestore(copy, backup, access.config);
  restore.run(onBox('root'));
  restore.release();
  for (const suffix of ['', '-wal', '-shm']) expect(existsSync(`${copy}.sessions${suffix}`)).toBe(false);
});

test('"status" reports on it, and does not create it', async () => {
  const { config, db, ...rest } = testDeps();
  const deps = { ...rest, config, db };
  expect(readStatus(deps).signIns).toBeNull();
  const path = sessionsPath(config.databasePath);
  expect(existsSync(path)).toBe(false);
  const access = { ...deps, sessions: openSessionsFile(config.databasePath) };
  await importLines(access, [ADA]);
  const owner = ownerToSign(access, 1);
  if (owner === null) throw new Error('no such profile');
  beginSignIn(access, owner, CLIENT);
  requestCode(access, { name: 'ada', address: ADA.email, browserSecret: null, knownBrowser: null, client: CLIENT });
  requestCode(access, { name: 'eve', address: ADA.email, browserSecret: null, knownBrowser: null, client: CLIENT });
  expect(readStatus(deps).signIns).toEqual({ path, sessions: 1, mailsLastHour: 1, mailsPerHour: 1_000 });
  const variables = { DATABASE_PATH: config.databasePath };
  expect((await profilectl(['status', '--all'], { variables })).stdout).toMatch(
    /^Signed in +1 session; 1 sign-in mail in the last hour, at most 1000$/m,
  );
  closeSessionsFile(access.sessions);
  writeFileSync(path, 'damaged');
  expect(readStatus(deps).warnings).toContainEqual(expect.stringContaining("can't be read (SQLITE_NOTADB)"));
});

test('sweeping keeps rows that are in use or shown, and deletes those of erased profiles', async () => {
  const { access, clock, token, signIn } = await world();
  await importLines(access, [{ id: 2, username: 'bob', email: 'bob@example.org' }]);
  const bob = ownerToSign(access, 2);
  if (bob === null) throw new Error('no such profile');
  beginSignIn(access, bob, { ...CLIENT, address: '192.0.2.99' });
  requestCode(access, { name: 'ada', address: ADA.email, browserSecret: null, knownBrowser: null, client: CLIENT });
  const { sqlite } = access.sessions;
  const rows = () => [countSignInRows(sqlite), countTickets(sqlite, 'sign-in code')];
  const mails = () => (sqlite.query('SELECT count(*) AS n FROM mail_counts').get() as { n: number }).n;
  sweepSessions(access.db, clock, access.sessions);
  expect([...rows(), mails()]).toEqual([2, 1, 4]);
  const variables = { DATABASE_PATH: access.config.databasePath };
  await profilectl(['profiles', 'erase', 'bob', '--yes'], { variables });
  expect((await profilectl(['db', 'vacuum'], { variables })).stderr).toBe('');
  expect(rows()).toEqual([1, 1]);
  const { path } = access.sessions;
  const stored = [path, `${path}-wal`].map((file) => readFileSync(file, 'latin1')).join('');
  expect([stored.includes('192.0.2.99'), stored.includes(CLIENT.address)]).toEqual([false, true]);
  clock.advance(DAY_MS);
  signIn();
  clock.advance(30 * DAY_MS - 1);
  sweepSessions(access.db, clock, access.sessions);
  expect([...rows(), mails()]).toEqual([2, 0, 0]);
  expect(readSignIn(access, token)).toBeNull();
  clock.advance(1);
  sweepSessions(access.db, clock, access.sessions);
  expect(rows()[0]).toBe(1);
});
