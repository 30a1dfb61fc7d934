import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { quotaPath } from '../../../shared/limits/file/store.ts';
import { openLimits } from '../../../shared/limits/one-thread.ts';
import { PROJECT } from '../../support/cli.ts';
import { left } from '../../support/storage/limits.ts';
import { tempFolder, testClock } from '../../support/world.ts';

// test/fixtures/quotas-in-pages.db.gz was written by the code of commit a0785f9, which kept rings in pages and a log, 405 saves
// after it began, and not stopped cleanly. The figures below are what that code itself said of it.

const WRITTEN_AT = 1_767_225_900_250;

const KEYS: [identifier: string, ...limits: [quota: number, windowSeconds: number][]][] = [
  ['few00000', [60, 60], [5_000, 86_400]],
  ['many0000', [1_000, 3_600]],
  ['grouped0', [5_000, 86_400]],
  ['wrapped0', [100, 60]],
  ['inlog000', [7, 3_600]],
  ['gone0000', [9, 60]],
  ['million0', [1_000_000, 86_400]],
];

const LEFT_AFTER_MS: [ms: number, left: number[][]][] = [
  [0, [[58, 4_780], [0], [479], [98], [3], [9], [845_744]]],
  [59_000, [[58, 4_780], [0], [479], [98], [3], [9], [845_744]]],
  [1_800_000, [[60, 4_780], [0], [479], [100], [3], [9], [845_744]]],
  [3_599_000, [[60, 4_780], [1_000], [479], [100], [3], [9], [845_744]]],
  [3_600_001, [[60, 4_780], [1_000], [479], [100], [7], [9], [845_744]]],
  [86_200_000, [[60, 4_900], [1_000], [4_899], [100], [7], [9], [984_478]]],
];

test('a quota file of the version before is read once: every key goes on exactly where it was', () => {
  const path = join(tempFolder(), 'data', 'profiles.db');
  mkdirSync(dirname(path));
  const fixture = readFileSync(join(PROJECT, 'test/fixtures/quotas-in-pages.db.gz'));
  writeFileSync(quotaPath(path), Bun.gunzipSync(fixture));
  const keys = KEYS.map(([identifier, ...limits]) => ({
    identifier,
    rateLimits: limits.map(([quota, windowSeconds]) => ({ quota, windowSeconds })),
  }));
  const clock = testClock(WRITTEN_AT);
  const reports: string[] = [];
  const open = () => openLimits(path, clock, (_level, sentence) => void reports.push(sentence));
  let limits = open();
  for (const [ms, wanted] of LEFT_AFTER_MS) {
    clock.advance(WRITTEN_AT + ms - clock.nowMs());
    expect([ms, keys.map((key) => left(limits, { ...key }))]).toEqual([ms, wanted]);
    limits.close();
    limits = open();
  }
  limits.close();
  expect(reports).toEqual([]);
  expect(readdirSync(dirname(path)).filter((name) => name.includes('unreadable'))).toEqual([]);
});
