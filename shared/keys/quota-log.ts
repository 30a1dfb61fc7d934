import type { LogRow } from '../db/quota-store.ts';
import type { Account } from './quota-account.ts';
import type { Ring } from './ring.ts';
import { changedTimes, type RingLog } from './ring-pages.ts';

// The log of the quota file: one row for all accounts of a save, with nothing but what is new. Pages, of which each account
// has rows of its own, took ten times as long with thousands of keys in use.

/**
 * A row that says what has come to these accounts since they were last saved, after it says that what the file had of the
 * forgotten ones is void. The numbers are Float64: for each identifier how many rings it has (0: forgotten), for each ring
 * its window in seconds, quota, head, how many times there are, and these.
 */
export function logOf(forgotten: Iterable<string>, accounts: readonly Account[]): Omit<LogRow, 'seq'> {
  const identifiers = [...forgotten];
  const numbers: number[] = identifiers.map(() => 0);
  for (const { identifier, rings, savedHeads } of accounts) {
    identifiers.push(identifier);
    numbers.push(rings.length);
    for (let index = 0; index < rings.length; index++) {
      const ring = rings[index] as Ring;
      const times = changedTimes(ring, savedHeads[index] as number);
      numbers.push(ring.windowMs / 1000, ring.quota, ring.head, times.length);
      for (const time of times) numbers.push(time);
    }
  }
  return { identifiers: identifiers.join(' '), numbers: new Uint8Array(Float64Array.from(numbers).buffer) };
}

/** What rows, in their order, say of each ring of the keys that were not forgotten since. */
export function readLog(rows: readonly LogRow[]): Map<string, RingLog[]> {
  const logs = new Map<string, RingLog[]>();
  for (const row of rows) {
    const numbers = new Float64Array(row.numbers.slice().buffer);
    let at = 0;
    for (const identifier of row.identifiers.split(' ')) {
      const rings = numbers[at++] ?? 0;
      const log = logs.get(identifier) ?? [];
      if (rings === 0) logs.delete(identifier);
      else logs.set(identifier, log);
      for (let count = 0; count < rings; count++) at = readSave(numbers, at, log);
    }
  }
  return logs;
}

/** Adds what stands here of a ring; returns where the next one begins. */
function readSave(numbers: Float64Array, at: number, log: RingLog[]): number {
  const [windowSeconds = 0, quota = 0, , length = 0] = numbers.subarray(at, at + 4);
  let ring = log.find((one) => one.windowSeconds === windowSeconds);
  if (ring === undefined) {
    ring = { windowSeconds, quota, saves: [] };
    log.push(ring);
  }
  const end = at + 4 + length;
  for (let from = at + 2; from < end; from++) ring.saves.push(numbers[from] as number);
  return end;
}
