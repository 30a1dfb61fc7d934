import { describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quotaPath, readRecreatedAt } from '../../../shared/limits/file/store.ts';
import type { Limits } from '../../../shared/limits/limits.ts';
import { openLimits } from '../../../shared/limits/one-thread.ts';
import { eventually } from '../../support/eventually.ts';
import { left, use } from '../../support/storage/limits.ts';
import { afterCrash } from '../../support/storage/quota-file.ts';
import { type TestClock, tempFolder, testClock } from '../../support/world.ts';

// Somebody moves or deletes the quota file of a running server. Anything written to a deleted file would be lost at the
// next start.

type Opened = { limits: Limits; save: () => Promise<void>; close: () => void; reports: string[] };

function withOneThread(path: string, clock: TestClock): Opened {
  const reports: string[] = [];
  const limits = openLimits(path, clock, (level, sentence) => void reports.push(`${level}: ${sentence}`));
  return { limits, save: limits.save, close: limits.close, reports };
}

const RATE_LIMITS = [
  { quota: 60, windowSeconds: 60 },
  { quota: 5_000, windowSeconds: 86_400 },
];
const BUSY = { identifier: 'k7Qm2XaB', rateLimits: RATE_LIMITS };
const QUIET = { identifier: 'nP3kR8Tz', rateLimits: RATE_LIMITS };

function removeAll(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix);
}

const LOSSES: [what: string, lose: (file: string) => void][] = [
  ['deleted', (file) => rmSync(file)],
  ['deleted with its log', removeAll],
  ['moved away', (file) => renameSync(file, `${file}.away`)],
  ['replaced by an older copy', (file) => renameSync(`${file}.older`, file)],
  ['replaced by something else', (file) => renameSync(`${file}.other`, file)],
  ['left without its log', (file) => rmSync(`${file}-wal`)],
];

describe('a quota file that is lost while a server runs', () => {
  test.each(LOSSES)('%s: is reported, and recreated from the server’s memory', async (_what, lose) => {
    const path = join(tempFolder(), 'profiles.db');
    const clock = testClock();
    const minuteMs = clock.nowMs();
    const first = withOneThread(path, clock);
    use(first.limits, { ...BUSY }, 5);
    await first.save();
    copyFileSync(quotaPath(path), `${quotaPath(path)}.older`);
    writeFileSync(`${quotaPath(path)}.other`, 'nothing of ours, at some length '.repeat(50));
    clock.advance(20_000);
    use(first.limits, { ...BUSY }, 10);
    use(first.limits, { ...QUIET }, 7);
    await first.save();
    expect([readRecreatedAt(path), first.reports]).toEqual([null, []]);
    lose(quotaPath(path));
    use(first.limits, { ...BUSY }, 1);
    await first.save();
    const warnings = first.reports.filter((text) =>
      text.startsWith('warn: The quota file was moved, deleted or replaced;'),
    );
    expect(warnings).toHaveLength(1);
    expect(first.reports.filter((text) => text.startsWith('error'))).toEqual([]);
    expect(readRecreatedAt(path)).toBe(minuteMs);
    // Later requests are saved as usual.
    use(first.limits, { ...QUIET }, 1);
    await first.save();
    const second = withOneThread(afterCrash(path), clock);
    expect([left(second.limits, { ...BUSY }), left(second.limits, { ...QUIET })]).toEqual([
      [44, 4_984],
      [52, 4_992],
    ]);
    second.close();
    first.close();
    const third = withOneThread(path, clock);
    expect([left(third.limits, { ...BUSY }), left(third.limits, { ...QUIET })]).toEqual([
      [44, 4_984],
      [52, 4_992],
    ]);
    expect(third.reports).toEqual([]);
    // Each request still counts from its own time.
    clock.advance(40_001);
    expect(left(third.limits, { ...BUSY })).toEqual([49, 4_984]);
    third.close();
  });

  test('is recreated later if that is impossible at first', async () => {
    const path = join(tempFolder(), 'profiles.db');
    const first = withOneThread(path, testClock());
    use(first.limits, { ...BUSY }, 5);
    await first.save();
    removeAll(quotaPath(path));
    mkdirSync(quotaPath(path));
    for (let turn = 0; turn < 2; turn++) await first.save();
    expect(first.reports.map((text) => text.split(' ', 1)[0])).toEqual(['warn:', 'error:']);
    rmSync(quotaPath(path), { recursive: true });
    first.close();
    expect(first.reports.at(-1)).toBe('info: Quotas can be written again.');
    const second = withOneThread(path, testClock());
    expect(left(second.limits, { ...BUSY })).toEqual([55, 4_995]);
    second.close();
  });
});

test('a lost quota file is recreated within seconds, even if no key is used', async () => {
  const path = join(tempFolder(), 'profiles.db');
  const first = withOneThread(path, testClock());
  use(first.limits, { ...BUSY }, 5);
  first.close();
  const second = withOneThread(path, testClock());
  removeAll(quotaPath(path));
  await eventually(() => readRecreatedAt(path) !== null);
  second.close();
  expect(second.reports).toHaveLength(1);
  const third = withOneThread(path, testClock());
  expect(left(third.limits, { ...BUSY })).toEqual([55, 4_995]);
  third.close();
}, 20_000);
