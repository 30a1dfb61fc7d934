import { expect, test } from 'bun:test';
import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { openFile } from '../../../shared/db/open.ts';
import { quotaPath } from '../../../shared/db/quota-store.ts';
import { closeLedger, saveLedger } from '../../../shared/keys/quota-file.ts';
import { accountOf, openLedger, spend } from '../../../shared/keys/quota-ledger.ts';
import { remainingAt } from '../../../shared/keys/ring.ts';
import { tempFolder, testClock } from '../../support/world.ts';

test('a crash between two saves of one burst after a restart forgets nothing that was saved before', () => {
  const path = join(tempFolder(), 'profiles.db');
  const clock = testClock();
  const rateLimits = [
    { quota: 60, windowSeconds: 60 },
    { quota: 100, windowSeconds: 86_400 },
  ];
  const keys = Array.from({ length: 501 }, (_, at) => ({ identifier: `k${at}`.padEnd(8, '_'), rateLimits }));
  const open = () => openLedger(path, clock, () => {});
  const first = open();
  for (const key of keys) for (let turn = 0; turn < 2; turn++) spend(first, accountOf(first, key), 40 - 20 * turn);
  clock.advance(61_000);
  for (const key of keys) spend(first, accountOf(first, key), 40); // 100 of 100 a day.
  clock.advance(61_000);
  closeLedger(first);
  const second = open();
  for (const key of keys) expect(spend(second, accountOf(second, key))).not.toBeNull(); // Refused: 100 of 100.
  saveLedger(second, 500); // As the timer does.
  second.store?.close(); // A crash.
  const third = open();
  const left = keys.map((key) => remainingAt(accountOf(third, key).rings[1] as never, third.now()));
  third.store?.close();
  expect(left.filter((one) => one > 0)).toEqual([]);
});

test('what the file has of a key survives a crash, where the file could be opened only after the key was swept', () => {
  const path = join(tempFolder(), 'profiles.db');
  const clock = testClock();
  const key = { identifier: 'k7Qm2XaB', rateLimits: [{ quota: 100, windowSeconds: 86_400 }] };
  const open = () => openLedger(path, clock, () => {});
  const left = (ledger: ReturnType<typeof open>) =>
    accountOf(ledger, key).rings.map((ring) => remainingAt(ring, ledger.now()));
  const first = open();
  spend(first, accountOf(first, key), 100);
  closeLedger(first);
  const file = quotaPath(path);
  renameSync(file, `${file}.aside`);
  mkdirSync(file);
  const second = open();
  accountOf(second, key); // Asks for /api/key, say.
  clock.advance(61_000);
  saveLedger(second); // Sweeps; the file can not be opened yet.
  rmdirSync(file);
  renameSync(`${file}.aside`, file);
  saveLedger(second);
  expect(left(second)).toEqual([0]);
  // A crash.
  second.store?.close();
  const third = open();
  expect(left(third)).toEqual([0]);
  third.store?.close();
});

test('a page that is damaged says nothing, and holds up no start', () => {
  const path = join(tempFolder(), 'profiles.db');
  const clock = testClock();
  const rateLimits = [{ quota: 64, windowSeconds: 86_400 }];
  const [damaged, whole] = ['k7Qm2XaA', 'k7Qm2XaB'].map((identifier) => ({ identifier, rateLimits })) as [Key, Key];
  for (const damage of ['quota = 0', 'quota = -5', 'head = 1 << 60', 'head = -1', 'window_seconds = 0', 'page = 16']) {
    const before = openLedger(path, clock, () => {});
    for (const key of [damaged, whole]) spend(before, accountOf(before, key), 10);
    closeLedger(before);
    const file = openFile(quotaPath(path), 1_000);
    file.run(`UPDATE pages SET ${damage} WHERE identifier = '${damaged.identifier}'`);
    file.close();
    // In a process of its own, which can be ended: a start that is held up is held up for ever.
    const child = Bun.spawnSync([process.execPath, join(import.meta.dir, 'quota-restart-child.ts'), path], {
      env: { ...process.env, NOW: String(clock.nowMs()), KEYS: JSON.stringify([damaged, whole]) },
      timeout: 10_000,
    });
    expect([damage, child.stdout.toString()]).toEqual([damage, '[[64],[54]]']);
    clock.advance(86_400_001);
  }
}, 60_000);

type Key = { identifier: string; rateLimits: { quota: number; windowSeconds: number }[] };
