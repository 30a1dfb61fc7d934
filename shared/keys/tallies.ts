import type { Clock } from '../clock.ts';
import type { ErrorCode } from '../errors.ts';

/** How a request with a valid key ended, as it is counted. */
export const USAGE_OUTCOMES = ['ok', 'notFound', 'forbidden', 'malformed', 'limited', 'failed'] as const;

export type UsageOutcome = (typeof USAGE_OUTCOMES)[number];

/** What one key was used for on one day (days since 1970, UTC) since that was last written down. */
export type Tally = Record<UsageOutcome, number> & { identifier: string; day: number; lastUsedAt: number };

/** A day in UTC has no other length. */
export const DAY_MS = 86_400_000;

/** So many days it is kept what keys were used for, today among them. */
export const USAGE_DAYS = 400;

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

/** Counts in memory, until somebody takes them. */
export type Tallies = {
  /** Counts one; `code` says why it was refused, null where it was not. Takes a twentieth of a microsecond. */
  count: (identifier: string, code: ErrorCode | null) => void;
  /** Adds what was counted elsewhere, or taken out and of no use. */
  add: (tallies: readonly Tally[]) => void;
  /** Takes out at most so many, those of days that are over first. */
  take: (most: number) => Tally[];
  isEmpty: () => boolean;
};

/** Begins to count; `onCount` is told of each key that was not counted before. */
export function createTallies(clock: Clock, onCount: () => void = () => {}): Tallies {
  const today = new Map<string, Tally>();
  // Of days that are over.
  let ended: Tally[] = [];

  return {
    count: (identifier, code) => {
      const nowMs = clock.nowMs();
      const day = dayOf(nowMs);
      let tally = today.get(identifier);
      if (tally === undefined || tally.day !== day) {
        if (tally !== undefined) ended.push(tally);
        tally = newTally(identifier, day);
        today.set(identifier, tally);
        onCount();
      }
      tally[code === null ? 'ok' : (OUTCOMES[code] ?? 'failed')]++;
      tally.lastUsedAt = nowMs;
    },
    add: (tallies) => {
      for (const more of tallies) {
        const tally = today.get(more.identifier);
        if (tally === undefined) today.set(more.identifier, { ...more });
        else if (tally.day !== more.day) ended.push(more);
        else {
          for (const outcome of USAGE_OUTCOMES) tally[outcome] += more[outcome];
          tally.lastUsedAt = Math.max(tally.lastUsedAt, more.lastUsedAt);
        }
      }
    },
    take: (most) => {
      const taken = [...ended, ...today.values()].slice(0, most);
      const fromEnded = Math.min(ended.length, taken.length);
      ended = ended.slice(fromEnded);
      for (const { identifier } of taken.slice(fromEnded)) today.delete(identifier);
      return taken;
    },
    isEmpty: () => ended.length + today.size === 0,
  };
}
