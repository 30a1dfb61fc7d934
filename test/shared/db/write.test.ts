import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { lockDeadline, whenUnlocked, write } from '../../../shared/db/write.ts';
import { importLines } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

/** A database whose lock another process can take. */
function contested() {
  const deps = testDeps();
  const { $client: sqlite } = deps.db;
  sqlite.run('PRAGMA busy_timeout = 0');
  const other = new Database(deps.config.databasePath);
  const take = () => other.run('BEGIN IMMEDIATE');
  const takeShortly = () => {
    take();
    setTimeout(() => other.run('ROLLBACK'), 100);
  };
  return { deps, sqlite, take, takeShortly };
}

test('a write is tried again if another process gets the lock just before it, until its time is over', async () => {
  const { deps, sqlite, take, takeShortly } = contested();
  let tries = 0;
  const writeAfter = (beaten: () => void) => () => {
    tries++;
    if (tries === 1) beaten();
    return write(deps.db, () => 'written');
  };
  expect([await whenUnlocked(sqlite, writeAfter(takeShortly)), tries]).toEqual(['written', 2]);
  tries = 0;
  const untilMs = lockDeadline() - 1_800;
  await expect(whenUnlocked(sqlite, writeAfter(take), untilMs)).rejects.toMatchObject({ code: 'busy' });
  expect(tries).toBe(1);
});

test('an import whose lines are all applied waits for the lock to record that, too', async () => {
  const { deps, sqlite, takeShortly } = contested();
  const outcome = await importLines(deps, [{ id: 1, username: 'ada' }], {
    pace: { lockMs: 5, gapMs: 15, write: (act) => whenUnlocked(sqlite, act) },
    onProgress: takeShortly,
  });
  expect(outcome).toMatchObject({ imported: 1, refused: [] });
});
