import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { checkDatabase } from '../../../shared/files/copy.ts';
import {
  countUsage,
  createUsage,
  dayOf,
  dropOldUsage,
  keyUsage,
  noteUsageSaved,
  prepareUsageRows,
  USAGE_DAYS,
} from '../../../shared/usage/usage.ts';
import { issue } from '../../support/keys.ts';
import { eraseProfile, insertProfile } from '../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

/** A database with one Active key, and its usage. */
async function world() {
  const clock = testClock();
  const deps = testDeps({ clock });
  insertProfile(deps.db);
  const { identifier } = await issue(deps);
  const usage = createUsage(clock);
  // As a server does once a second.
  const save = () => {
    prepareUsageRows(deps.db.$client)(usage.unsaved);
    noteUsageSaved(usage);
  };
  return { deps: { ...deps, clock }, identifier, usage, save };
}

const NOTHING = { ok: 0, notFound: 0, forbidden: 0, malformed: 0, limited: 0, failed: 0 };

test('requests are counted by outcome and day, added to earlier counts', async () => {
  const { deps, identifier, usage, save } = await world();
  for (const code of [null, null, 'not_found', 'unknown_path', 'rate_limited', 'insufficient_scope'] as const) {
    countUsage(usage, identifier, code);
  }
  save();
  for (const code of ['bad_parameter', 'method_not_allowed', 'internal', 'busy', null] as const) {
    countUsage(usage, identifier, code);
  }
  save();
  deps.clock.advance(DAY_MS + 5);
  countUsage(usage, identifier, null);
  save();
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

test('a request belongs to its own day, whenever it is stored and however the clock jumps', async () => {
  const { deps, identifier, usage, save } = await world();
  deps.clock.advance(DAY_MS - 1);
  countUsage(usage, identifier, null);
  deps.clock.advance(1);
  countUsage(usage, identifier, null);
  deps.clock.jump(-DAY_MS);
  countUsage(usage, identifier, null);
  deps.clock.jump(DAY_MS);
  countUsage(usage, identifier, null);
  save();
  expect(keyUsage(deps, identifier, 2).days.map(({ ok }) => ok)).toEqual([2, 2]);
});

test('counts are kept when the profile of the key is erased', async () => {
  const { deps, identifier, usage, save } = await world();
  countUsage(usage, identifier, null);
  save();
  eraseProfile(deps, 'user1', onBox('admin'));
  expect(keyUsage(deps, identifier, 1).days[0]?.ok).toBe(1);
  expect(checkDatabase(deps.db).faults).toEqual([]);
});

test('counts are kept for 400 days, including today', async () => {
  const { deps, identifier } = await world();
  const today = dayOf(deps.clock.nowMs());
  const of = (day: number) => ({ identifier, day, ...NOTHING, ok: 1, lastUsedAt: day * DAY_MS });
  prepareUsageRows(deps.db.$client)(Array.from({ length: 450 }, (_, index) => of(today - index)));
  expect(dropOldUsage(deps.db.$client, deps.clock.nowMs())).toBe(false);
  const { days } = keyUsage(deps, identifier, USAGE_DAYS);
  expect([days.length, days.filter(({ ok }) => ok > 0).length]).toEqual([400, 400]);
  expect(deps.db.$client.query('SELECT count(*) AS rows FROM key_usage').get()).toEqual({ rows: 400 });
});
