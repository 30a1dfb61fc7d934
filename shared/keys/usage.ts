import type { Clock } from '../clock.ts';
import { openUsageStore, type UsageStore } from '../db/usage-store.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import type { Report } from './quota-ledger.ts';

/** How a request with a valid key ended, as it is counted. */
export const USAGE_OUTCOMES = ['ok', 'notFound', 'forbidden', 'malformed', 'limited', 'failed'] as const;

export type UsageOutcome = (typeof USAGE_OUTCOMES)[number];

/** What one key was used for on one day (days since 1970, UTC) since that was last written down. */
export type Tally = Record<UsageOutcome, number> & { identifier: string; day: number; lastUsedAt: number };

/** Counts requests by key and day: in memory at once, in the database within seconds. */
export type Usage = {
  /** Counts one; `code` says why it was refused, null where it was not. Takes a twentieth of a microsecond. */
  count: (identifier: string, code: ErrorCode | null) => void;
  /** Writes down what is not yet. Returns whether all of it is. */
  save: () => boolean;
  /** Writes everything down, waiting for a lock if need be, and closes. */
  close: () => void;
};

/** A crash forgets at most this much. */
const SAVE_EVERY_MS = 10_000;

/** While another process holds the lock: an import lets go of it many times a second. */
const RETRY_EVERY_MS = 1_000;

/** So many rows in one write, since it holds up requests: a few milliseconds. The rest follows at once. */
const SAVE_AT_ONCE = 500;

/** How long the last write waits for a lock; nobody is served any more. */
const LAST_WAIT_MS = 2_000;

/** So many days are kept, today among them. */
export const USAGE_DAYS = 400;

/** A day in UTC has no other length. */
export const DAY_MS = 86_400_000;

/** The day of a time: days since 1970, UTC. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** What is not here was our fault. */
const OUTCOMES: Partial<Record<ErrorCode, UsageOutcome>> = {
  not_found: 'notFound',
  unknown_path: 'notFound',
  insufficient_scope: 'forbidden',
  bad_parameter: 'malformed',
  bad_request: 'malformed',
  method_not_allowed: 'malformed',
  uri_too_long: 'malformed',
  rate_limited: 'limited',
};

function newTally(identifier: string, day: number): Tally {
  return { identifier, day, ok: 0, notFound: 0, forbidden: 0, malformed: 0, limited: 0, failed: 0, lastUsedAt: 0 };
}

/**
 * Begins to count for a database. It is written on a connection of its own that waits for no lock: where another process
 * holds it, the counts stay in memory until the next time.
 */
export function openUsage(databasePath: string, clock: Clock, report: Report): Usage {
  const today = new Map<string, Tally>();
  // Of days that are over.
  let ended: Tally[] = [];
  let store: UsageStore | null = null;
  let isFailing = false;
  let timer: Timer | null = null;

  function count(identifier: string, code: ErrorCode | null): void {
    const nowMs = clock.nowMs();
    const day = dayOf(nowMs);
    let tally = today.get(identifier);
    if (tally === undefined || tally.day !== day) {
      if (tally !== undefined) ended.push(tally);
      tally = newTally(identifier, day);
      today.set(identifier, tally);
      timer ??= schedule(SAVE_EVERY_MS);
    }
    tally[code === null ? 'ok' : (OUTCOMES[code] ?? 'failed')]++;
    tally.lastUsedAt = nowMs;
  }

  function schedule(delayMs: number): Timer {
    return setTimeout(() => {
      timer = null;
      const outcome = trySave(SAVE_AT_ONCE, 0);
      if (ended.length + today.size > 0) {
        timer = schedule({ saved: 1, locked: RETRY_EVERY_MS, failed: SAVE_EVERY_MS }[outcome]);
      }
    }, delayMs).unref();
  }

  function trySave(most: number, waitMs: number): 'saved' | 'locked' | 'failed' {
    const tallies = [...ended, ...today.values()].slice(0, most);
    try {
      store ??= openUsageStore(databasePath);
      store.add(tallies, dayOf(clock.nowMs()) - USAGE_DAYS, waitMs);
    } catch (error) {
      if (error instanceof AppError && error.code === 'busy') return 'locked';
      if (!isFailing) report('error', 'What keys were used for can not be written; it is counted in memory.', error);
      isFailing = true;
      return 'failed';
    }
    if (isFailing) report('info', 'What keys were used for is written again.');
    isFailing = false;
    const fromEnded = Math.min(ended.length, tallies.length);
    ended = ended.slice(fromEnded);
    for (const { identifier } of tallies.slice(fromEnded)) today.delete(identifier);
    return 'saved';
  }

  return {
    count,
    save: () => trySave(Number.POSITIVE_INFINITY, 0) === 'saved',
    close: () => {
      if (timer !== null) clearTimeout(timer);
      const isAnything = ended.length + today.size > 0;
      if (isAnything && trySave(Number.POSITIVE_INFINITY, LAST_WAIT_MS) === 'locked') {
        report('error', 'The database is locked, so the last seconds of what keys were used for are lost.');
      }
      store?.close();
    },
  };
}
