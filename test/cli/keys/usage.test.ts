import { describe, expect, test } from 'bun:test';
import { usageText } from '../../../cli/keys/print.ts';
import { DAY_MS, systemClock } from '../../../shared/clock.ts';
import { dayOf, prepareUsageRows } from '../../../shared/usage/usage.ts';
import { issue, request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';
import { runCommand } from '../commands.ts';

const NOTHING = { ok: 0, notFound: 0, forbidden: 0, malformed: 0, limited: 0, failed: 0 };

/** A database with two Active keys and a pending one. The first was used a lot yesterday and a little today. */
async function world() {
  const deps = testDeps();
  insertProfile(deps.db);
  const used = (await issue(deps, { name: 'Busy' })).identifier;
  const idle = (await issue(deps, { name: 'Idle' })).identifier;
  await request(deps, { name: 'Waiting' });
  const nowMs = systemClock.nowMs();
  const today = dayOf(nowMs);
  const yesterday = {
    ...NOTHING,
    identifier: used,
    day: today - 1,
    ok: 380,
    notFound: 20,
    limited: 100,
    lastUsedAt: nowMs - DAY_MS,
  };
  const earlier = { ...NOTHING, identifier: used, day: today, ok: 1, lastUsedAt: nowMs - 3_600_000 };
  prepareUsageRows(deps.db.$client)([yesterday, earlier]);
  const variables = { DATABASE_PATH: deps.config.databasePath };
  const run = (...words: string[]) => runCommand(['keys', ...words], { variables });
  return { used, idle, run, nowMs };
}

const w = await world();

describe('keys usage', () => {
  test('prints a bar for each day with requests, up to the width of the terminal, and the totals', async () => {
    const { code, stdout } = await w.run('usage', w.used, '--days', '7');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toStartWith(`Key ${w.used}: 501 requests in 7 days, last used `);
    // Days without requests are omitted.
    const bars = lines.slice(2, -2);
    expect(bars.length).toBe(2);
    expect(bars[0]).toMatch(/^\d{4}-\d\d-\d\d {2}500 {2}█{50}░{13}$/);
    expect(bars[0]).toHaveLength(80);
    expect(bars[1]).toMatch(/^\d{4}-\d\d-\d\d {4}1 {2}█$/);
    expect(lines.at(-1)).toBe('█ 401 answered (20 not found)   ░ 100 over a limit');
  });

  test('prints one JSON value with --json', async () => {
    const { stdout } = await w.run('usage', w.used, '--days', '2', '--json');
    const { identifier, days, lastUsedAt } = JSON.parse(stdout);
    expect([identifier, days.length, days[0].ok, days[0].limited, days[1].ok]).toEqual([w.used, 2, 380, 100, 1]);
    expect(Date.parse(lastUsedAt)).toBe(w.nowMs - 3_600_000);
    expect(Object.keys(days[0])).toEqual(['day', ...Object.keys(NOTHING)]);
    const idle = JSON.parse((await w.run('usage', w.idle, '--json')).stdout);
    expect([idle.days.length, idle.lastUsedAt]).toEqual([30, null]);
  });

  test('fits any width, with at least one cell for each outcome that occurred', () => {
    const days = [
      { day: '2026-01-01', ...NOTHING, ok: 1_000_000, failed: 1 },
      { day: '2026-01-02', ...NOTHING, notFound: 1 },
      { day: '2026-01-03', ...NOTHING, ok: 1 },
    ];
    for (const columns of [1, 20, 24, 30, 100, 237]) {
      const bars = usageText({ identifier: 'k7Qm2XaB', days, lastUsedAt: null }, columns).split('\n').slice(2, 5);
      expect(Math.max(...bars.map((line) => line.length))).toBe(Math.max(22, columns));
      expect(bars[0]).toEndWith('░');
      // A profile that does not exist counts as answered.
      expect([bars[1]?.endsWith('  █'), bars[2]?.endsWith('  █')]).toEqual([true, true]);
    }
    const none = usageText({ identifier: 'k7Qm2XaB', days: [{ day: '2026-01-01', ...NOTHING }], lastUsedAt: null }, 80);
    expect(none).toBe('Key k7Qm2XaB: 0 requests in 1 day, never used');
  });
});

test('keys list shows when each key was last used', async () => {
  const { stdout } = await w.run('list');
  const line = (name: string) => stdout.split('\n').find((text) => text.includes(` ${name} `));
  expect(stdout.split('\n')[0]).toEndWith('Last used');
  expect(line('Busy')).toEndWith('1h ago');
  expect(line('Idle')).toEndWith('never');
  expect(line('Waiting')).toEndWith('Z');
  expect((await w.run('list', '--state', 'pending')).stdout).not.toContain('Last used');
});
