import type { Clock } from '../clock.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import { USAGE_DAYS } from '../keys/fields.ts';
import type { Tally } from '../keys/tally.ts';
import type { Report } from '../limits/ledger.ts';
import { type Counted, createTallies, dayOf } from './usage-counter.ts';
import { openUsageStore, type UsageStore } from './usage-store.ts';

/** Counts requests by key and day: in memory at once, in the database within seconds. */
export type Usage = {
  /** Counts one; `code` says why it was refused, null where it was not. Takes a twentieth of a microsecond. */
  count: (key: Counted, code: ErrorCode | null) => void;
  /** Adds what other threads have counted. */
  add: (tallies: readonly Tally[]) => void;
  /** Writes down what is not yet. Returns whether all of it is. */
  save: () => boolean;
  /** Writes everything down, waiting for a lock if need be, and closes. */
  close: () => void;
};

/** With what workers hold back, a crash forgets at most ten seconds. */
const SAVE_EVERY_MS = 9_000;

/** While another process holds the lock: an import lets go of it many times a second. */
const RETRY_EVERY_MS = 1_000;

/** So many rows in one write, since it holds up requests: a few milliseconds. The rest follows at once. */
const SAVE_AT_ONCE = 500;

/** How long the last write waits for a lock; nobody is served any more. */
const LAST_WAIT_MS = 2_000;

/**
 * Begins to count for a database. It is written on a connection of its own that waits for no lock: where another process
 * holds it, the counts stay in memory until the next time.
 */
export function openUsage(databasePath: string, clock: Clock, report: Report): Usage {
  const tallies = createTallies(clock, () => {
    timer ??= schedule(SAVE_EVERY_MS);
  });
  let store: UsageStore | null = null;
  let isFailing = false;
  let timer: Timer | null = null;

  function schedule(delayMs: number): Timer {
    return setTimeout(() => {
      timer = null;
      const outcome = trySave(SAVE_AT_ONCE, 0);
      if (!tallies.isEmpty()) {
        timer ??= schedule({ saved: 1, locked: RETRY_EVERY_MS, failed: SAVE_EVERY_MS }[outcome]);
      }
    }, delayMs).unref();
  }

  function trySave(most: number, waitMs: number): 'saved' | 'locked' | 'failed' {
    const taken = tallies.take(most);
    try {
      store ??= openUsageStore(databasePath);
      store.add(taken, dayOf(clock.nowMs()) - USAGE_DAYS, waitMs);
    } catch (error) {
      tallies.giveBack(taken);
      if (error instanceof AppError && error.code === 'busy') return 'locked';
      if (!isFailing) report('error', 'What keys were used for can not be written; it is counted in memory.', error);
      isFailing = true;
      return 'failed';
    }
    if (isFailing) report('info', 'What keys were used for is written again.');
    isFailing = false;
    return 'saved';
  }

  return {
    count: tallies.count,
    add: tallies.add,
    save: () => trySave(Number.POSITIVE_INFINITY, 0) === 'saved',
    close: () => {
      if (timer !== null) clearTimeout(timer);
      if (!tallies.isEmpty() && trySave(Number.POSITIVE_INFINITY, LAST_WAIT_MS) === 'locked') {
        report('error', 'The database is locked, so the last seconds of what keys were used for are lost.');
      }
      store?.close();
    },
  };
}
