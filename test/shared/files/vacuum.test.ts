import { expect, test } from 'bun:test';
import { realpathSync } from 'node:fs';
import { beginAttempt } from '../../../shared/approval/approve.ts';
import type { Deps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { isVacuumWanted, vacuumDatabase } from '../../../shared/files/disk.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { request } from '../../support/keys.ts';
import { eraseProfile, importLines, insertProfile } from '../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

/** A database with three profiles. */
function world() {
  const clock = testClock(Date.parse('2026-01-01T00:00:00Z'));
  const deps = { ...testDeps({ clock }), clock };
  for (let id = 1; id <= 3; id++) insertProfile(deps.db, { id });
  return { deps, clock, isWanted: () => isVacuumWanted(deps.db) };
}

/** The code of the refusal of a vacuum; null if it succeeds. */
function refusal(deps: Pick<Deps, 'db' | 'clock'>): string | null {
  try {
    vacuumDatabase(deps.db, deps.clock);
    return null;
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

test('a vacuum is wanted after each way of erasing, until one has run', async () => {
  const { deps, clock, isWanted } = world();
  const ways = [
    () => eraseProfile(deps, 'user1', onBox('operator')),
    () => importLines(deps, [{ id: 2, deleted: true }]),
    () => importLines(deps, [{ id: 3, deleted: true }], { merge: true, strict: true }),
  ];
  for (const erase of ways) {
    expect(isWanted()).toBe(false);
    await erase();
    expect(isWanted()).toBe(true);
    vacuumDatabase(deps.db, clock);
  }
  expect(isWanted()).toBe(false);
});

test('it is not wanted if nothing was erased: by a line about a missing profile, or an import that was rolled back', async () => {
  const { deps, isWanted } = world();
  await importLines(deps, [{ id: 9, deleted: true }]);
  const clash = { id: 2, username: 'user3' };
  expect((await importLines(deps, [{ id: 1, deleted: true }, clash], { strict: true })).refused).toHaveLength(1);
  expect(isWanted()).toBe(false);
});

test('it is wanted again for a profile that is erased while a vacuum runs', () => {
  const { deps, clock, isWanted } = world();
  eraseProfile(deps, 'user1', onBox('operator'));
  const { $client } = deps.db;
  const run = $client.run.bind($client);
  $client.run = (sql: string) => {
    const done = run(sql);
    if (sql === 'VACUUM') eraseProfile(deps, 'user2', onBox('operator'));
    return done;
  };
  vacuumDatabase(deps.db, clock);
  $client.run = run;
  expect(isWanted()).toBe(true);
});

test('a vacuum is refused during an approval, until its lease expires', async () => {
  const { deps, clock } = world();
  const identifier = await request(deps);
  beginAttempt(deps, { identifier, grant: {}, by: onBox('admin') });
  expect(refusal(deps)).toBe('busy');
  clock.advance(deps.approvalLeaseMs);
  expect(refusal(deps)).toBeNull();
});

test('a vacuum is refused during a write or a long read, and then changes nothing', () => {
  const { deps, isWanted } = world();
  eraseProfile(deps, 'user1', onBox('operator'));
  deps.db.$client.run('PRAGMA busy_timeout = 10');
  const other = openDatabase(deps.config.databasePath, 'use').$client;
  other.run('BEGIN IMMEDIATE');
  expect(refusal(deps)).toBe('busy');
  other.run('ROLLBACK');
  insertProfile(deps.db, { id: 9 });
  other.run('BEGIN');
  other.query('SELECT count(*) FROM profiles').get();
  expect(refusal(deps)).toBe('busy');
  expect(isWanted()).toBe(true);
  other.close();
  expect(refusal(deps)).toBeNull();
  expect(isWanted()).toBe(false);
});

test('a vacuum writes its temporary copy beside the database, and not to a folder such as /var/tmp', () => {
  const { deps } = world();
  vacuumDatabase(deps.db, deps.clock);
  const { temp_store_directory: folder } = deps.db.$client.query('PRAGMA temp_store_directory').get() as Record<
    string,
    string
  >;
  expect(folder).toBe(realpathSync(deps.folder));
});
