import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Report } from '../limits/ledger.ts';
import { createUsageCounter, giveBackUsage, hasNoUsage, takeUsage, type UsageCounter } from './usage-counter.ts';
import { openUsageStore, type UsageStore } from './usage-store.ts';

/** How often counts are written. Including what workers hold back, a crash loses at most ten seconds of counts. */
const SAVE_EVERY_MS = 9_000;

/** How soon they are written if that long has passed since the last write: somebody who tries a key looks at its page. */
const SAVE_SOON_MS = 800;

/** The delay before a save is retried while another process holds the write lock; an import releases it often. */
const RETRY_EVERY_MS = 1_000;

/** The most rows in one write. Requests wait for it, a few milliseconds; the remaining rows follow at once. */
const SAVE_AT_ONCE = 500;

/** How long the last write waits for a lock; no requests are answered by then. */
const LAST_WAIT_MS = 2_000;

/** Requests by key and day: counted in memory, and written to the database within seconds. */
export type Usage = {
  readonly counter: UsageCounter;
  readonly databasePath: string;
  readonly clock: Clock;
  readonly report: Report;
  /** The connection that writes; null before the first write. */
  store: UsageStore | null;
  /** Whether the last write failed for any reason other than a lock. */
  isFailing: boolean;
  /** The next save; null while there is nothing to save. */
  timer: Timer | null;
  /** When counts were last written, by the monotonic clock. */
  savedAtMs: number;
};

/**
 * Starts counting for a database. Counts are written on a separate connection that waits for no lock: while another
 * process holds the write lock, they stay in memory until the next save.
 */
export function openUsage(databasePath: string, clock: Clock, report: Report): Usage {
  const counter = createUsageCounter(clock, () => {
    usage.timer ??= scheduleSave(usage, Math.max(SAVE_SOON_MS, usage.savedAtMs + SAVE_EVERY_MS - clock.monotonicMs()));
  });
  const usage: Usage = {
    ...{ counter, databasePath, clock, report, store: null, isFailing: false, timer: null },
    savedAtMs: Number.NEGATIVE_INFINITY,
  };
  return usage;
}

/** Writes the counts, waiting for a lock if necessary, and closes the connection. */
export function closeUsage(usage: Usage): void {
  if (usage.timer !== null) clearTimeout(usage.timer);
  if (!hasNoUsage(usage.counter) && saveUsage(usage, { waitMs: LAST_WAIT_MS }) === 'locked') {
    usage.report('error', 'The database is locked; the usage counts of the last seconds are lost.');
  }
  usage.store?.close();
}

function scheduleSave(usage: Usage, delayMs: number): Timer {
  return setTimeout(() => {
    usage.timer = null;
    const outcome = saveUsage(usage, { most: SAVE_AT_ONCE });
    if (hasNoUsage(usage.counter)) return;
    usage.timer ??= scheduleSave(usage, { saved: 1, locked: RETRY_EVERY_MS, failed: SAVE_EVERY_MS }[outcome]);
  }, delayMs).unref();
}

/** Writes the counts of at most `most` keys and days, waiting up to `waitMs` milliseconds for another process's lock. */
export function saveUsage(
  usage: Usage,
  { most = Number.POSITIVE_INFINITY, waitMs = 0 } = {},
): 'saved' | 'locked' | 'failed' {
  const { counter, clock, report } = usage;
  const taken = takeUsage(counter, most);
  try {
    usage.store ??= openUsageStore(usage.databasePath);
    usage.store.add(taken, clock, waitMs);
    usage.savedAtMs = clock.monotonicMs();
  } catch (error) {
    giveBackUsage(counter, taken);
    if (error instanceof AppError && error.code === 'busy') return 'locked';
    if (!usage.isFailing) report('error', 'Usage counts can not be written; they are kept in memory.', error);
    usage.isFailing = true;
    return 'failed';
  }
  if (usage.isFailing) report('info', 'Usage counts are written again.');
  usage.isFailing = false;
  return 'saved';
}
