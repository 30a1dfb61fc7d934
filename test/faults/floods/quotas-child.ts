import { openLimits } from '../../../shared/limits/limits.ts';
import { readStored } from '../../../shared/limits/stored.ts';
import { memoryDatabase, saveTo, use } from '../../support/storage.ts';

// Run by quotas.test.ts as its own process: uses up the default limits of many keys minute by minute, saves and restores
// them as a restart does, and prints by how many bytes memory grew after the first keys. Its argument: the number of keys.

const [count = ''] = process.argv.slice(2);
const FIRST = 500;
const KEYS = Number(count);
const DEFAULT_LIMITS = [
  { quota: 60, windowSeconds: 60 },
  { quota: 5_000, windowSeconds: 86_400 },
];
let now = Date.parse('2026-01-01T00:00:00Z');
const clock = { nowMs: () => now, monotonicMs: () => now };
const sqlite = memoryDatabase();
const open = () => openLimits(clock, readStored(sqlite));
const keys = Array.from({ length: FIRST + KEYS }, (_, at) => ({ identifier: `key${at}`, rateLimits: DEFAULT_LIMITS }));
let limits = open();

/** Uses up the limits of some keys, and returns how many requests were admitted. */
function useUp(some: typeof keys): number {
  let admitted = 0;
  for (let minute = 0; minute < 84; minute++) {
    for (const key of some) {
      const account = limits.accountOf({ ...key });
      // After 83 minutes, a third of a minute's quota is left for the day.
      for (const count of [60, 20]) while (limits.spend(account, count) === null) admitted += count;
    }
    now += 60_001;
  }
  Bun.gc(true);
  return admitted;
}

// Their code is compiled, and the memory that does not depend on the number of keys is allocated.
useUp(keys.slice(0, FIRST));
const before = process.memoryUsage.rss();
const admitted = useUp(keys.slice(FIRST));
const used = process.memoryUsage.rss() - before;
saveTo(sqlite, limits, true);
limits = open();
let refused = 0;
for (const key of keys.slice(FIRST)) if (use(limits, { ...key }) !== null) refused++;
process.stdout.write(JSON.stringify({ keys: KEYS, admitted, used, refused }));
process.exit(0);
