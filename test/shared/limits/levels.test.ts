import { expect, test } from 'bun:test';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openBare } from '../../../shared/db/connect.ts';
import { quotaPath } from '../../../shared/limits/file/store.ts';
import { lastSpentMs, readLevels } from '../../../shared/limits/levels.ts';
import type { Limits } from '../../../shared/limits/limits.ts';
import { openLimits } from '../../../shared/limits/one-thread.ts';
import { use as useOf } from '../../support/storage/limits.ts';
import { tempFolder, testClock } from '../../support/world.ts';

// The levels that pages show, read from the quota file of a running server.

const folder = tempFolder();
let files = 0;

const KEY = {
  identifier: 'k7Qm2XaB',
  rateLimits: [
    { quota: 60, windowSeconds: 60 },
    { quota: 5_000, windowSeconds: 86_400 },
  ],
};
const OTHER = { ...KEY, identifier: 'BIpkTBpP' };

function world() {
  const path = join(folder, `${++files}`, 'profiles.db');
  const clock = testClock();
  return { path, clock, limits: openLimits(path, clock, () => undefined) };
}

const use = (limits: Limits, count: number, key = KEY) => useOf(limits, { ...key }, count);

test('levels have what is left, when there is more and when all is available, while the server runs', async () => {
  const { path, clock, limits } = world();
  const levels = () => readLevels(path, [KEY], clock.nowMs())?.get(KEY.identifier);
  const beginMs = clock.nowMs();
  const full = { moreAtMs: null, fullAtMs: null, wasUsedUp: false };
  expect(levels()).toEqual(KEY.rateLimits.map((limit) => ({ ...limit, remaining: limit.quota, ...full })));
  use(limits, 50);
  use(limits, 7, OTHER);
  await limits.save();
  clock.advance(20_000);
  use(limits, 10);
  await limits.save();
  const [minute, day] = levels() ?? [];
  expect(minute).toMatchObject({ quota: 60, windowSeconds: 60, remaining: 0 });
  expect(Math.floor((minute?.moreAtMs ?? 0) - beginMs)).toBe(60_000);
  expect(Math.floor((minute?.fullAtMs ?? 0) - beginMs)).toBe(80_000);
  expect(day?.remaining).toBe(4_940);
  expect([minute?.wasUsedUp, day?.wasUsedUp]).toEqual([true, false]);
  expect(lastSpentMs(levels() ?? [])).toBe(beginMs + 20_000);
  clock.advance(60_000);
  expect(levels()?.map(({ remaining }) => remaining)).toEqual([50, 4_940]);
  // As long as the day's limit contains that minute.
  clock.advance(23 * 3_600_000);
  expect(levels()?.map(({ remaining, wasUsedUp }) => [remaining, wasUsedUp])).toEqual([
    [60, true],
    [4_940, false],
  ]);
  // The same after the server has stopped, and for a limit that was changed since.
  limits.close();
  const changed = { ...KEY, rateLimits: [{ quota: 100, windowSeconds: 86_400 }] };
  expect(readLevels(path, [changed, OTHER], clock.nowMs())).toEqual(
    new Map([
      [KEY.identifier, [expect.objectContaining({ quota: 100, remaining: 40 })]],
      [OTHER.identifier, [expect.objectContaining({ remaining: 60 }), expect.objectContaining({ remaining: 4_993 })]],
    ]),
  );
});

test('there are no levels without a quota file, or from another or a damaged file, and reading changes no file', async () => {
  const { path, clock, limits } = world();
  use(limits, 1);
  await limits.save();
  const files = () => readdirSync(dirname(path)).map((name) => [name, statSync(join(dirname(path), name)).size]);
  const before = files();
  expect(readLevels(path, [KEY], clock.nowMs())).not.toBeNull();
  expect(files()).toEqual(before);
  limits.close();
  expect(readLevels(join(folder, 'none', 'profiles.db'), [KEY], clock.nowMs())).toBeNull();
  writeFileSync(quotaPath(path), 'x'.repeat(4_096));
  expect(readLevels(path, [KEY], clock.nowMs())).toBeNull();
});

test('a pipe instead of the quota file does not block', () => {
  const { path, clock, limits } = world();
  limits.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(quotaPath(path) + suffix, { force: true });
  expect(Bun.spawnSync(['mkfifo', quotaPath(path)]).exitCode).toBe(0);
  expect(readLevels(path, [KEY], clock.nowMs())).toBeNull();
});

test('the time of a damaged row is ignored', async () => {
  const { path, clock, limits } = world();
  use(limits, 10);
  await limits.save();
  limits.close();
  const before = readLevels(path, [KEY], clock.nowMs());
  const file = openBare(quotaPath(path), 'write');
  file.run('UPDATE log SET time = 1e300 WHERE seq = (SELECT max(seq) FROM log)');
  file.close();
  expect(readLevels(path, [KEY], clock.nowMs())).toEqual(before);
});
