import { expect, test } from 'bun:test';
import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { quotaPath } from '../../../shared/limits/file/store.ts';
import { openLimits } from '../../../shared/limits/one-thread.ts';
import { left, use } from '../../support/storage/limits.ts';
import { afterCrash } from '../../support/storage/quota-file.ts';
import { tempFolder, testClock } from '../../support/world.ts';

test('a crash between two saves of a burst after a restart loses nothing that was saved before', async () => {
  const path = join(tempFolder(), 'profiles.db');
  const clock = testClock();
  const rateLimits = [
    { quota: 60, windowSeconds: 60 },
    { quota: 100, windowSeconds: 86_400 },
  ];
  const keys = Array.from({ length: 501 }, (_, at) => ({ identifier: `k${at}`.padEnd(8, '_'), rateLimits }));
  const open = (at = path) => openLimits(at, clock, () => {});
  const first = open();
  for (const key of keys) for (let turn = 0; turn < 2; turn++) use(first, { ...key }, 40 - 20 * turn);
  clock.advance(61_000);
  for (const key of keys) use(first, { ...key }, 40); // 100 of 100 a day.
  clock.advance(61_000);
  first.close();
  const second = open();
  for (const key of keys) expect(use(second, { ...key })).not.toBeNull(); // Refused: 100 of 100.
  await second.save();
  const third = open(afterCrash(path));
  expect(keys.filter((key) => (left(third, { ...key })[1] ?? 0) > 0)).toEqual([]);
  second.close();
  third.close();
});

test('the saved state of a key survives a crash, even if the file could only be opened after the key was dropped', async () => {
  const path = join(tempFolder(), 'profiles.db');
  const clock = testClock();
  const key = { identifier: 'k7Qm2XaB', rateLimits: [{ quota: 100, windowSeconds: 86_400 }] };
  const open = (at = path) => openLimits(at, clock, () => {});
  const first = open();
  use(first, { ...key }, 100);
  first.close();
  const file = quotaPath(path);
  renameSync(file, `${file}.aside`);
  mkdirSync(file);
  const second = open();
  second.accountOf({ ...key }); // Asks for /api/key, say.
  clock.advance(61_000);
  await second.save(); // Drops what is unused; the file can not be opened yet.
  rmdirSync(file);
  renameSync(`${file}.aside`, file);
  await second.save();
  expect(left(second, { ...key })).toEqual([0]);
  const third = open(afterCrash(path));
  expect(left(third, { ...key })).toEqual([0]);
  second.close();
  third.close();
});
