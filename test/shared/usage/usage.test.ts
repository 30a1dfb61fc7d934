import { describe, expect, test } from 'bun:test';
import { existsSync, rmSync } from 'node:fs';
import { DAY_MS } from '../../../shared/clock.ts';
import { openFile } from '../../../shared/db/connect.ts';
import { checkDatabase } from '../../../shared/files/check.ts';
import { USAGE_DAYS } from '../../../shared/keys/usage-outcomes.ts';
import { closeUsage, openUsage, saveUsage } from '../../../shared/usage/usage.ts';
import { countUsage, dayOf } from '../../../shared/usage/usage-counter.ts';
import { dropOldUsage, openUsageStore } from '../../../shared/usage/usage-store.ts';
import { keyUsage } from '../../../shared/usage/usage-view.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { issue } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

/** A database with one Active key, its open usage counts, and what they have logged. */
async function world() {
  const clock = testClock();
  const deps = testDeps({ clock });
  insertProfile(deps.db);
  const { identifier } = await issue(deps);
  const reports: string[] = [];
  const open = () =>
    openUsage(deps.config.databasePath, clock, (level, text) => void reports.push(`${level}: ${text}`));
  return { deps: { ...deps, clock }, identifier, reports, open, usage: open() };
}

const NOTHING = { ok: 0, notFound: 0, forbidden: 0, malformed: 0, limited: 0, failed: 0 };

describe('a count', () => {
  test('is stored by outcome and day, added to earlier counts, before and after a restart', async () => {
    const { deps, identifier, usage, open } = await world();
    for (const code of [null, null, 'not_found', 'unknown_path', 'rate_limited', 'insufficient_scope'] as const) {
      countUsage(usage.counter, { identifier }, code);
    }
    expect(saveUsage(usage)).toBe('saved');
    for (const code of ['bad_parameter', 'method_not_allowed', 'internal', 'busy', null] as const) {
      countUsage(usage.counter, { identifier }, code);
    }
    closeUsage(usage);
    deps.clock.advance(DAY_MS + 5);
    const again = open();
    countUsage(again.counter, { identifier }, null);
    closeUsage(again);
    expect(keyUsage(deps, identifier, 3)).toEqual({
      identifier,
      days: [
        { day: '2025-12-31', ...NOTHING },
        { day: '2026-01-01', ok: 3, notFound: 2, forbidden: 1, malformed: 2, limited: 1, failed: 2 },
        { day: '2026-01-02', ...NOTHING, ok: 1 },
      ],
      lastUsedAt: '2026-01-02T00:00:00.005Z',
    });
  });

  test('belongs to the day of the request, whenever it is stored', async () => {
    const { deps, identifier, usage } = await world();
    deps.clock.advance(DAY_MS - 1);
    countUsage(usage.counter, { identifier }, null);
    deps.clock.advance(1);
    countUsage(usage.counter, { identifier }, null);
    countUsage(usage.counter, { identifier }, null);
    closeUsage(usage);
    expect(keyUsage(deps, identifier, 2).days.map(({ ok }) => ok)).toEqual([1, 2]);
  });

  test('is kept when the profile of the key is erased', async () => {
    const { deps, identifier, usage } = await world();
    countUsage(usage.counter, { identifier }, null);
    closeUsage(usage);
    eraseProfile(deps, 'user1', onBox('admin'));
    expect(keyUsage(deps, identifier, 1).days[0]?.ok).toBe(1);
    expect(checkDatabase(deps.db).faults).toEqual([]);
  });
});

describe('while another process holds the lock', () => {
  test('requests do not wait, and all counts are stored once the lock is released', async () => {
    const { deps, identifier, usage, reports } = await world();
    countUsage(usage.counter, { identifier }, null);
    const importing = openFile(deps.config.databasePath, 0);
    importing.run('BEGIN IMMEDIATE');
    // 200 waits of even 50 ms would exceed the time limit of this test.
    for (let turn = 0; turn < 200; turn++) expect(saveUsage(usage)).toBe('locked');
    countUsage(usage.counter, { identifier }, 'not_found');
    importing.run('ROLLBACK');
    importing.close();
    expect(saveUsage(usage)).toBe('saved');
    expect(keyUsage(deps, identifier, 1).days[0]).toMatchObject({ ok: 1, notFound: 1 });
    expect(reports).toEqual([]);
    closeUsage(usage);
  });

  test('counts that can’t be stored at shutdown are lost, and this is logged', async () => {
    const { deps, identifier, usage, reports } = await world();
    countUsage(usage.counter, { identifier }, null);
    const importing = openFile(deps.config.databasePath, 0);
    importing.run('BEGIN IMMEDIATE');
    closeUsage(usage);
    expect(reports.join()).toContain('locked');
    importing.close();
  });
});

test('a database that can’t be written is logged once, and no count is lost', async () => {
  const { deps, identifier, usage, reports } = await world();
  deps.db.$client.run('ALTER TABLE key_usage RENAME TO away');
  countUsage(usage.counter, { identifier }, null);
  for (let turn = 0; turn < 3; turn++) expect(saveUsage(usage)).toBe('failed');
  deps.db.$client.run('ALTER TABLE away RENAME TO key_usage');
  expect(saveUsage(usage)).toBe('saved');
  expect(reports.map((text) => text.split(':', 1)[0])).toEqual(['error', 'info']);
  expect(keyUsage(deps, identifier, 1).days[0]?.ok).toBe(1);
  closeUsage(usage);
});

test('counts are kept for 400 days, including today', async () => {
  const { deps, identifier, usage } = await world();
  const store = openUsageStore(deps.config.databasePath);
  const today = dayOf(deps.clock.nowMs());
  const of = (day: number) => ({ identifier, day, ...NOTHING, ok: 1, lastUsedAt: day * DAY_MS });
  store.add(
    Array.from({ length: 450 }, (_, index) => of(today - index)),
    0,
  );
  store.close();
  closeUsage(usage);
  expect(dropOldUsage(deps.db.$client, deps.clock.nowMs())).toBe(false);
  const { days } = keyUsage(deps, identifier, USAGE_DAYS);
  expect([days.length, days.filter(({ ok }) => ok > 0).length]).toEqual([400, 400]);
  expect(deps.db.$client.query('SELECT count(*) AS rows FROM key_usage').get()).toEqual({ rows: 400 });
});

test('a database that is gone is not replaced by an empty one', async () => {
  const { deps, identifier, usage, reports } = await world();
  deps.db.$client.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(deps.config.databasePath + suffix, { force: true });
  countUsage(usage.counter, { identifier }, null);
  expect(saveUsage(usage)).toBe('failed');
  expect(reports).toEqual([expect.stringContaining('error: ')]);
  expect(existsSync(deps.config.databasePath)).toBe(false);
  closeUsage(usage);
});
