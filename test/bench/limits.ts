import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LimitedKey } from '../../shared/limits/account.ts';
import { quotaPath } from '../../shared/limits/file/store.ts';
import { openLimits } from '../../shared/limits/one-thread.ts';

// `bun test/bench/limits.ts`: how long a save of 10 000 busy keys blocks the thread, and to start with 200 000 idle ones, and
// how much memory that needs. Compare a figure only with that of another version, measured in turn with this one.

const RATE_LIMITS = [
  { quota: 60, windowSeconds: 60 },
  { quota: 5_000, windowSeconds: 86_400 },
];
const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-bench-'));
let now = Date.parse('2026-01-01T00:00:00Z');
const clock = { nowMs: () => Math.floor(now), monotonicMs: () => now };
const open = (name: string) => openLimits(join(folder, name), clock, (_level, sentence) => print(sentence));
const keysOf = (count: number): LimitedKey[] =>
  Array.from({ length: count }, (_, at) => ({ identifier: `k${at}`.padEnd(8, '_'), rateLimits: RATE_LIMITS }));
const print = (line: string) => process.stdout.write(`${line}\n`);
const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;

async function saveBusy(): Promise<void> {
  const limits = open('busy.db');
  const keys = keysOf(10_000);
  const times: number[] = [];
  for (let turn = 0; turn < 60; turn++) {
    for (const key of keys) limits.spend(limits.accountOf(key), 1 + (turn % 3));
    now += turn % 20 === 19 ? 60_800 : 800;
    const begun = performance.now();
    const saved = limits.save();
    times.push(performance.now() - begun);
    await saved;
  }
  limits.close();
  print(`save of 10 000 busy keys: ${times.sort((one, other) => one - other)[30]?.toFixed(1)} ms (median)`);
}

function startIdle(): void {
  const before = open('idle.db');
  for (const [at, key] of keysOf(200_000).entries()) before.spend(before.accountOf(key), 1 + (at % 7));
  before.close();
  Bun.gc(true);
  const resident = process.memoryUsage.rss();
  const begun = performance.now();
  const limits = open('idle.db');
  const took = performance.now() - begun;
  const grown = mebibytes(process.memoryUsage.rss() - resident);
  const file = mebibytes(statSync(quotaPath(join(folder, 'idle.db'))).size);
  print(`start with 200 000 idle keys: ${took.toFixed(0)} ms, memory +${grown}, file ${file}`);
  limits.close();
}

await saveBusy();
startIdle();
rmSync(folder, { recursive: true });
process.exit(0);
