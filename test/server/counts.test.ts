import { expect, test } from 'bun:test';
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { startSavingCounts } from '../../server/upkeep/counts.ts';
import { openFile } from '../../shared/db/connect.ts';
import { openLimits } from '../../shared/limits/limits.ts';
import { readStored } from '../../shared/limits/stored.ts';
import { countUsage, createUsage, keyUsage } from '../../shared/usage/usage.ts';
import { issue } from '../support/keys.ts';
import { insertProfile } from '../support/profiles.ts';
import { leftIn, use } from '../support/storage.ts';
import { eventually, testClock, testDeps } from '../support/world.ts';

// Saving what keys have spent and how they were used, once a second. Real servers: faults/floods/quotas.test.ts.

const LIMITS = [{ quota: 9, windowSeconds: 86_400 }];

/** A database with one Active key, whose counts are saved; `spend` counts one request. */
async function world(pathOf = (path: string) => path) {
  const clock = testClock();
  const deps = testDeps({ clock });
  insertProfile(deps.db);
  const { identifier } = await issue(deps);
  const reports: string[] = [];
  const limits = openLimits(clock, readStored(deps.db.$client));
  let composed = 0;
  const changes = () => {
    composed++;
    return limits.changes();
  };
  const counts = { limits: { ...limits, changes }, usage: createUsage(clock) };
  const databasePath = pathOf(deps.config.databasePath);
  const saving = startSavingCounts({
    ...counts,
    deps: { ...deps, config: { ...deps.config, databasePath } },
    log: { event: (level, text) => void reports.push(`${level}: ${text}`), request: () => {} },
  });
  const key = { identifier, rateLimits: LIMITS };
  return {
    deps,
    databasePath,
    reports,
    saving,
    composed: () => composed,
    spend: () => {
      use(counts.limits, key);
      countUsage(counts.usage, identifier, null);
    },
    stored: () => [leftIn(deps.db.$client, key, clock)[0], keyUsage(deps, identifier, 1).days[0]?.ok],
  };
}

test('happens by itself, and at the stop; a locked database is tried again, unreported', async () => {
  const { databasePath, reports, saving, spend, stored, composed } = await world();
  spend();
  await eventually(() => stored()[1] === 1);
  expect(stored()).toEqual([8, 1]);
  const other = openFile(databasePath, 0);
  other.run('BEGIN IMMEDIATE');
  spend();
  await Bun.sleep(1_500);
  expect([...stored(), composed()]).toEqual([8, 1, 1]);
  spend();
  other.run('ROLLBACK');
  other.close();
  await eventually(() => stored()[1] === 3);
  spend();
  await saving.stop();
  expect(stored()).toEqual([5, 4]);
  expect(reports).toEqual([]);
}, 20_000);

test('works if DATABASE_PATH is a link', async () => {
  const { reports, saving, spend, stored } = await world((path) => {
    symlinkSync(path, `${path}.link`);
    return `${path}.link`;
  });
  spend();
  await eventually(() => stored()[1] === 1);
  await saving.stop();
  expect(reports).toEqual([]);
});

test('that fails is reported once, and nothing is lost', async () => {
  const { deps, reports, saving, spend, stored } = await world();
  const { $client } = deps.db;
  $client.run('ALTER TABLE key_usage RENAME TO away');
  spend();
  await eventually(() => reports.length > 0);
  expect(reports).toEqual(['error: Quotas and usage cannot be written; they are only kept in memory.']);
  $client.run('ALTER TABLE away RENAME TO key_usage');
  spend();
  await saving.stop();
  expect(reports.slice(1)).toEqual(['info: Quotas and usage can be written again.']);
  expect(stored()).toEqual([7, 2]);
}, 20_000);

test('waits for the lock at the stop, but not for ever, and says what is lost', async () => {
  const { databasePath, reports, saving, spend } = await world();
  spend();
  const other = openFile(databasePath, 0);
  other.run('BEGIN IMMEDIATE');
  await saving.stop();
  expect(reports).toEqual(['error: Quotas and usage cannot be written; what was not written yet is lost.']);
  other.close();
}, 20_000);

test('makes no empty database in place of one that is gone', async () => {
  const { deps, databasePath, reports, saving, spend } = await world();
  deps.db.$client.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(databasePath + suffix, { force: true });
  spend();
  await saving.stop();
  expect(reports).toEqual([expect.stringContaining('error: ')]);
  expect(existsSync(databasePath)).toBe(false);
});
