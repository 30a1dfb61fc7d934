import { type Clock, DAY_MS } from '../clock.ts';
import type { ErrorCode } from '../errors.ts';
import { type OpenTally, type Tally, USAGE_OUTCOMES, type UsageOutcome } from '../keys/tally.ts';

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
  /** Takes out at most so many, those of days that are over first. */
  take: (most: number) => OpenTally[];
  /** Takes them back where they were of no use. */
  giveBack: (tallies: readonly OpenTally[]) => void;
  isEmpty: () => boolean;
};

/** Begins to count; `onCount` is told of each tally that is begun. */
export function createTallies(clock: Clock, onCount: () => void = () => {}): Tallies {
  // Of each key one, however many objects it has been.
  const today = new Map<string, OpenTally>();
  // Of days that are over.
  let ended: OpenTally[] = [];

  function begin(key: Counted, day: number): OpenTally {
    const { identifier } = key;
    let tally = today.get(identifier);
    if (tally?.day !== day) {
      if (tally !== undefined) ended.push(tally);
      tally = newTally(identifier, day);
      today.set(identifier, tally);
      onCount();
    }
    key.tally = tally;
    return tally;
  }

  function put(more: Tally): void {
    const tally = today.get(more.identifier);
    if (tally === undefined) today.set(more.identifier, { ...more, isTaken: false });
    else if (tally.day !== more.day) ended.push({ ...more, isTaken: false });
    else {
      for (const outcome of USAGE_OUTCOMES) tally[outcome] += more[outcome];
      tally.lastUsedAt = Math.max(tally.lastUsedAt, more.lastUsedAt);
    }
  }

  return {
    count: (key, code) => {
      const nowMs = clock.nowMs();
      const day = dayOf(nowMs);
      const known = key.tally;
      const tally = known === undefined || known.isTaken || known.day !== day ? begin(key, day) : known;
      tally[code === null ? 'ok' : (OUTCOMES[code] ?? 'failed')]++;
      tally.lastUsedAt = nowMs;
    },
    add: (tallies) => {
      for (const tally of tallies) put(tally);
      if (tallies.length > 0) onCount();
    },
    take: (most) => {
      const taken = [...ended, ...today.values()].slice(0, most);
      const fromEnded = Math.min(ended.length, taken.length);
      ended = ended.slice(fromEnded);
      for (const { identifier } of taken.slice(fromEnded)) today.delete(identifier);
      for (const tally of taken) tally.isTaken = true;
      return taken;
    },
    giveBack: (tallies) => {
      for (const tally of tallies) put(tally);
    },
    isEmpty: () => ended.length + today.size === 0,
  };
}

function newTally(identifier: string, day: number): OpenTally {
  return {
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
}
