import type { Clock } from '../clock.ts';
import type { ErrorCode } from '../errors.ts';

/** How a request with a valid key ended, as it is counted. */
export const USAGE_OUTCOMES = ['ok', 'notFound', 'forbidden', 'malformed', 'limited', 'failed'] as const;

export type UsageOutcome = (typeof USAGE_OUTCOMES)[number];

/** What one key was used for on one day (days since 1970, UTC) since that was last written down. */
export type Tally = Record<UsageOutcome, number> & { identifier: string; day: number; lastUsedAt: number };

/** One that goes on until it is taken. */
export type OpenTally = Tally & { isTaken: boolean };

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

/** A key as far as it is counted, and the tally that was last begun for it. */
export type Counted = { readonly identifier: string; tally?: OpenTally | undefined };

/** Counts in memory, until somebody takes them. */
export type Tallies = {
  /** Counts one; `code` says why it was refused, null where it was not. Takes a twentieth of a microsecond. */
  count: (key: Counted, code: ErrorCode | null) => void;
  /** Adds what was counted elsewhere. */
  add: (tallies: readonly Tally[]) => void;
  /** Takes out at most so many, those first that were begun first. */
  take: (most: number) => OpenTally[];
  /** Takes them back, at once, where they were of no use. */
  giveBack: (tallies: readonly OpenTally[]) => void;
  isEmpty: () => boolean;
};

/** Begins to count; `onCount` is told of each tally that is begun. */
export function createTallies(clock: Clock, onCount: () => void = () => {}): Tallies {
  let begun: OpenTally[] = [];
  // Keys that are counted elsewhere.
  const elsewhere = new Map<string, Counted>();

  function begin(key: Counted, day: number): OpenTally {
    const { identifier } = key;
    const tally = {
      identifier,
      day,
      ok: 0,
      notFound: 0,
      forbidden: 0,
      malformed: 0,
      limited: 0,
      failed: 0,
      lastUsedAt: 0,
      isTaken: false,
    };
    key.tally = tally;
    begun.push(tally);
    onCount();
    return tally;
  }

  function tallyOf(key: Counted, day: number): OpenTally {
    const { tally } = key;
    return tally === undefined || tally.isTaken || tally.day !== day ? begin(key, day) : tally;
  }

  return {
    count: (key, code) => {
      const nowMs = clock.nowMs();
      const tally = tallyOf(key, dayOf(nowMs));
      tally[code === null ? 'ok' : (OUTCOMES[code] ?? 'failed')]++;
      tally.lastUsedAt = nowMs;
    },
    add: (tallies) => {
      if (begun.length === 0) elsewhere.clear();
      for (const more of tallies) {
        const key = elsewhere.get(more.identifier) ?? { identifier: more.identifier };
        elsewhere.set(more.identifier, key);
        const tally = tallyOf(key, more.day);
        for (const outcome of USAGE_OUTCOMES) tally[outcome] += more[outcome];
        tally.lastUsedAt = Math.max(tally.lastUsedAt, more.lastUsedAt);
      }
    },
    take: (most) => {
      const taken = begun.slice(0, most);
      begun = begun.slice(taken.length);
      for (const tally of taken) tally.isTaken = true;
      return taken;
    },
    giveBack: (tallies) => {
      for (const tally of tallies) tally.isTaken = false;
      begun = [...tallies, ...begun];
    },
    isEmpty: () => begun.length === 0,
  };
}
