import { describe, expect, spyOn, test } from 'bun:test';
import { realpathSync } from 'node:fs';
import { beginAttempt } from '../../../shared/approval/attempt.ts';
import { noteVacuum, readErasures } from '../../../shared/db/erasures.ts';
import { lockForVacuum } from '../../../shared/db-files/import-lock.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { isVacuumDue, vacuumDatabase, vacuumRoom } from '../../../shared/db-files/vacuum.ts';
import type { Deps } from '../../../shared/deps.ts';
import { effectsOnKeys } from '../../../shared/erasure/erase-profile.ts';
import { AppError } from '../../../shared/errors.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines, jsonLines } from '../../support/import.ts';
import { request } from '../../support/keys.ts';
import { MAIL_CONFIG } from '../../support/mail/config.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

const DAY_MS = 86_400_000;

/** A database with `profiles` profiles, and a clock set to the beginning of a day (UTC). */
function world(profiles = 3) {
  const clock = testClock(Date.parse('2026-01-01T00:00:00Z'));
  const deps = { ...testDeps({ clock }), clock };
  for (let id = 1; id <= profiles; id++) insertProfile(deps.db, { id });
  const waiting = () => readErasures(deps.db.$client);
  return { deps, clock, waiting };
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

describe('the row about copies of erased text', () => {
  test('is added by each way of erasing, with the time of the first, until a vacuum', async () => {
    const { deps, clock, waiting } = world();
    expect(waiting()).toEqual({ lastSeq: 0, tracesSinceMs: null, vacuumedAtMs: null });
    const startMs = clock.nowMs();
    eraseProfile(deps, 'user1', onBox('operator'));
    clock.advance(1_000);
    await importLines(deps, [{ id: 2, deleted: true }]);
    clock.advance(1_000);
    await importLines(deps, [{ id: 3, deleted: true }], { merge: true, strict: true });
    expect(waiting()).toEqual({ lastSeq: 3, tracesSinceMs: startMs, vacuumedAtMs: null });
    vacuumDatabase(deps.db, clock);
    expect(waiting()).toEqual({ lastSeq: 3, tracesSinceMs: null, vacuumedAtMs: clock.nowMs() });
    expect(deps.db.$client.query('SELECT count(*) AS n FROM erasures').get()).toEqual({ n: 1 });
  });

  test('is not added if nothing was erased: by a line about a missing profile, or an import that was rolled back', async () => {
    const { deps, waiting } = world();
    await importLines(deps, [{ id: 9, deleted: true }]);
    const clash = { id: 2, username: 'user3' };
    expect((await importLines(deps, [{ id: 1, deleted: true }, clash], { strict: true })).refused).toHaveLength(1);
    expect(waiting().lastSeq).toBe(0);
  });

  test('is kept for profiles that are erased while a vacuum runs', () => {
    const { deps, clock, waiting } = world();
    eraseProfile(deps, 'user1', onBox('operator'));
    const { lastSeq } = waiting();
    clock.advance(5);
    eraseProfile(deps, 'user2', onBox('operator'));
    noteVacuum(deps.db.$client, lastSeq, clock);
    expect(waiting()).toMatchObject({ lastSeq: 2, tracesSinceMs: clock.nowMs() });
  });
});

test('a vacuum is due if copies may be left and the last one was 23 hours ago', () => {
  const { deps, clock } = world();
  const isDue = () => isVacuumDue(deps.db, clock.nowMs());
  expect(isDue()).toBe(false);
  eraseProfile(deps, 'user1', onBox('operator'));
  expect(isDue()).toBe(true);
  vacuumDatabase(deps.db, clock);
  expect(isDue()).toBe(false);
  eraseProfile(deps, 'user2', onBox('operator'));
  expect(isDue()).toBe(false);
  clock.advance(DAY_MS - 3_600_000 - 1);
  expect(isDue()).toBe(false);
  clock.advance(1);
  expect(isDue()).toBe(true);
});

test('a vacuum made while the clock was ahead does not delay the next one', () => {
  const { deps, clock } = world();
  clock.jump(30 * DAY_MS);
  eraseProfile(deps, 'user1', onBox('operator'));
  vacuumDatabase(deps.db, clock);
  clock.jump(-30 * DAY_MS);
  eraseProfile(deps, 'user2', onBox('operator'));
  expect(isVacuumDue(deps.db, clock.nowMs())).toBe(true);
});

describe('a vacuum is refused', () => {
  test('during an import, even between two of its batches', async () => {
    const { deps } = world();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
    async function* source() {
      yield Buffer.from(jsonLines({ id: 9, username: 'nine' }));
      begin();
      await mayEnd;
    }
    const done = importProfiles(deps, source(), {
      merge: false,
      strict: false,
      by: onBox('operator'),
      onKeys: effectsOnKeys(onBox('operator'), MAIL_CONFIG),
    });
    await hasBegun;
    expect(refusal(deps)).toBe('busy');
    end();
    expect(await done).toMatchObject({ imported: 1 });
    expect(refusal(deps)).toBeNull();
  });

  test('during an approval, until its lease expires', async () => {
    const { deps, clock } = world();
    const identifier = await request(deps);
    beginAttempt(deps, { identifier, grant: {}, by: onBox('admin') });
    expect(refusal(deps)).toBe('busy');
    clock.advance(deps.approvalLeaseMs);
    expect(refusal(deps)).toBeNull();
  });

  test('during another vacuum; an import waits for that', async () => {
    const { deps } = world();
    const lock = lockForVacuum(deps.config.databasePath, 0);
    expect(refusal(deps)).toBe('busy');
    const pauses = spyOn(Bun, 'sleep');
    const done = importLines(deps, [{ id: 9, username: 'nine' }]);
    // It sleeps between two tries to get the lock.
    while (pauses.mock.calls.length < 3) await new Promise((resolve) => setImmediate(resolve));
    pauses.mockRestore();
    expect(deps.db.$client.query('SELECT count(*) AS n FROM profiles WHERE id = 9').get()).toEqual({ n: 0 });
    lock.close();
    expect(await done).toMatchObject({ imported: 1 });
  });

  test('during a write or a long read, and then changes nothing', () => {
    const { deps, waiting } = world();
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
    expect(waiting().tracesSinceMs).not.toBeNull();
    other.close();
    expect(refusal(deps)).toBeNull();
    expect(waiting().tracesSinceMs).toBeNull();
  });
});

test('a vacuum needs free space of twice the size of the database and its log, on their disk', () => {
  const { deps } = world();
  vacuumDatabase(deps.db, deps.clock);
  // Otherwise SQLite may write its copy to a folder such as /var/tmp.
  const { temp_store_directory: folder } = deps.db.$client.query('PRAGMA temp_store_directory').get() as Record<
    string,
    string
  >;
  expect(folder).toBe(realpathSync(deps.folder));
  const { neededBytes, freeBytes } = vacuumRoom(deps.config.databasePath);
  const { pages } = deps.db.$client.query('SELECT page_count AS pages FROM pragma_page_count').get() as {
    pages: number;
  };
  expect(neededBytes).toBeGreaterThan(2 * 4_096 * pages);
  expect(freeBytes).toBeGreaterThan(0);
});
