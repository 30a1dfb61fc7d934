import type { LogRow } from '../db/quota-store.ts';
import type { AccountSince } from './quota-account.ts';
import { RATE_LIMIT_BOUNDS } from './rate-limit.ts';
import { ringLength } from './ring.ts';
import { changedTimes, type RingLog } from './ring-pages.ts';

// The log of the quota file: one row for all accounts of a save, with nothing but what is new. Pages, of which each account
// has rows of its own, took ten times as long with thousands of keys in use.

/**
 * A row that says what has come to these accounts, after it says that what the file had of the forgotten ones is void. The
 * numbers are Float64: for each identifier how many rings it has (0: forgotten), for each ring its window in seconds, quota,
 * head, how many times there are, and these.
 */
export function logOf(forgotten: Iterable<string>, accounts: readonly AccountSince[]): Omit<LogRow, 'seq'> {
  const identifiers = [...forgotten];
  const numbers: number[] = identifiers.map(() => 0);
  for (const { account, heads } of accounts) {
    const { identifier, rings } = account;
    identifiers.push(identifier);
    numbers.push(rings.length);
    for (const [index, ring] of rings.entries()) {
      const times = changedTimes(ring, heads[index] ?? 0);
      numbers.push(ring.windowMs / 1000, ring.quota, ring.head, times.length);
      for (const time of times) numbers.push(time);
    }
  }
  return { identifiers: identifiers.join(' '), numbers: new Uint8Array(Float64Array.from(numbers).buffer) };
}

/**
 * What rows, in their order, say of each ring of the keys that were not forgotten since. A row that is damaged says nothing,
 * as a damaged page does.
 */
export function readLog(rows: readonly LogRow[]): Map<string, RingLog[]> {
  const logs = new Map<string, RingLog[]>();
  for (const row of rows) {
    for (const { identifier, rings } of savesOf(row) ?? []) {
      const log = logs.get(identifier) ?? [];
      if (rings.length === 0) logs.delete(identifier);
      else logs.set(identifier, log);
      for (const { windowSeconds, quota, head, times } of rings) {
        let ring = log.find((one) => one.windowSeconds === windowSeconds);
        if (ring === undefined) {
          ring = { windowSeconds, quota, saves: [] };
          log.push(ring);
        }
        ring.saves.push(row.seq, head, times.length, ...times);
      }
    }
  }
  return logs;
}

type Save = {
  identifier: string;
  rings: { windowSeconds: number; quota: number; head: number; times: Float64Array }[];
};

/** A row taken apart ({@link logOf}), or null where it is not what was written. */
function savesOf({ identifiers, numbers: bytes }: LogRow): Save[] | null {
  if (bytes.length % 8 !== 0) return null;
  const numbers = new Float64Array(bytes.slice().buffer);
  let at = 0;
  let isWhole = true;
  const next = (least: number, most: number): number => {
    const number = numbers[at++] ?? Number.NaN;
    const isFine = Number.isInteger(number) && number >= least && number <= most;
    isWhole &&= isFine;
    return isFine ? number : least;
  };
  const saves: Save[] = [];
  for (const identifier of identifiers === '' ? [] : identifiers.split(' ')) {
    const save: Save = { identifier, rings: [] };
    for (let left = next(0, RATE_LIMIT_BOUNDS.maxPerKey); left > 0; left--) {
      const windowSeconds = next(1, RATE_LIMIT_BOUNDS.maxWindowSeconds);
      const quota = next(1, RATE_LIMIT_BOUNDS.maxQuota);
      const head = next(0, Number.MAX_SAFE_INTEGER);
      const length = next(0, Math.min(ringLength(quota), numbers.length - at));
      save.rings.push({ windowSeconds, quota, head, times: numbers.subarray(at, at + length) });
      at += length;
    }
    saves.push(save);
  }
  return isWhole && at === numbers.length && numbers.every(Number.isFinite) ? saves : null;
}
