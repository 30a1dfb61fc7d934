import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { createUsageCounter, giveBackUsage, hasNoUsage, takeUsage, type UsageCounter } from './usage-counter.ts';
import { openUsageStore, type UsageStore } from './usage-store.ts';

/** Writes a sentence to the operator's log, with its cause, if any. */
export type Report = (level: 'info' | 'warn' | 'error', sentence: string, cause?: unknown) => void;

/** How often counts are stored. Including those still in workers, a crash loses at most ten seconds of counts. */
const SAVE_EVERY_MS = 9_000;

/** The delay of the first save after a pause: short, because somebody who has just tried a key looks at its page. */
const SAVE_SOON_MS = 800;

/** The delay of a retry while another process holds the write lock; an import releases it often. */
const RETRY_EVERY_MS = 1_000;

/** How many rows one write stores. Requests wait for it, a few milliseconds; the remaining rows follow at once. */
const MAX_SAVED = 500;

/** How long the last write waits for a lock; the server no longer answers requests then. */
const LAST_WAIT_MS = 2_000;

/** Counts requests by key and day in memory, and stores them within seconds. */
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
 * Starts counting for a database. Counts are stored by a separate connection that does not wait for locks: while another process
 * holds the write lock, they stay in memory until the next save.
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

/** Stores the counts, waiting for a lock if necessary, and closes the connection. */
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
    const outcome = saveUsage(usage, { max: MAX_SAVED });
    if (hasNoUsage(usage.counter)) return;
    usage.timer ??= scheduleSave(usage, { saved: 1, locked: RETRY_EVERY_MS, failed: SAVE_EVERY_MS }[outcome]);
  }, delayMs).unref();
}

/** Stores at most `max` tallies, waiting up to `waitMs` for another process's lock. */
export function saveUsage(
  usage: Usage,
  { max = Number.POSITIVE_INFINITY, waitMs = 0 } = {},
): 'saved' | 'locked' | 'failed' {
  const { counter, clock, report } = usage;
  const taken = takeUsage(counter, max);
  try {
    usage.store ??= openUsageStore(usage.databasePath);
    usage.store.add(taken, waitMs);
    usage.savedAtMs = clock.monotonicMs();
  } catch (error) {
    giveBackUsage(counter, taken);
    if (error instanceof AppError && error.code === 'busy') return 'locked';
    if (!usage.isFailing) report('error', 'Usage counts cannot be written; they stay in memory.', error);
    usage.isFailing = true;
    return 'failed';
  }
  if (usage.isFailing) report('info', 'Usage counts can be written again.');
  usage.isFailing = false;
  return 'saved';
}
