import { type Clock, DAY_MS } from '../clock.ts';
import type { ErrorCode } from '../errors.ts';
import { eachOutcome, type OpenTally, type Tally, USAGE_OUTCOMES, type UsageOutcome } from '../keys/usage-outcomes.ts';

/** The UTC day of a time (milliseconds since 1970), in days since 1970. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** How refusals are counted. One that is not listed is the server's fault and counts as `failed`. */
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

/** A key with the tally of its last request, so that the next request need not look it up. */
export type Counted = { readonly identifier: string; tally?: OpenTally | undefined };

/** Counts requests by key and outcome in memory until the counts are stored. A tally has the counts of one key on one day. */
export type UsageCounter = {
  readonly clock: Clock;
  /** Called when a tally is created, and when tallies of another thread are added. */
  readonly onCount: () => void;
  /** The current tally of each key, by identifier. */
  readonly today: Map<string, OpenTally>;
  /** Tallies of other days than the key's current one. */
  ended: OpenTally[];
};

/** Creates an empty counter; `onCount` is called when there is something to store. */
export function createUsageCounter(clock: Clock, onCount: () => void = () => {}): UsageCounter {
  return { clock, onCount, today: new Map(), ended: [] };
}

/** Counts a request of a key; `code` is the code of the refusal, or null for a request that succeeded. Takes 0.05 µs. */
export function countUsage(counter: UsageCounter, key: Counted, code: ErrorCode | null): void {
  const nowMs = counter.clock.nowMs();
  const day = dayOf(nowMs);
  const known = key.tally;
  const tally = known === undefined || known.isTaken || known.day !== day ? beginTally(counter, key, day) : known;
  tally[code === null ? 'ok' : (OUTCOMES[code] ?? 'failed')]++;
  tally.lastUsedAt = nowMs;
}

/** Adds the tallies of another thread. */
export function addUsage(counter: UsageCounter, tallies: readonly Tally[]): void {
  for (const tally of tallies) addTally(counter, tally);
  if (tallies.length > 0) counter.onCount();
}

/** Removes and returns at most `max` tallies, those in `ended` first. */
export function takeUsage(counter: UsageCounter, max: number): OpenTally[] {
  const taken = [...counter.ended, ...counter.today.values()].slice(0, max);
  const fromEnded = Math.min(counter.ended.length, taken.length);
  counter.ended = counter.ended.slice(fromEnded);
  for (const { identifier } of taken.slice(fromEnded)) counter.today.delete(identifier);
  for (const tally of taken) tally.isTaken = true;
  return taken;
}

/** Puts back tallies from {@link takeUsage} that could not be stored. */
export function giveBackUsage(counter: UsageCounter, tallies: readonly OpenTally[]): void {
  for (const tally of tallies) addTally(counter, tally);
}

/** Whether there is nothing to store. */
export function hasNoUsage({ ended, today }: UsageCounter): boolean {
  return ended.length + today.size === 0;
}

function beginTally(counter: UsageCounter, key: Counted, day: number): OpenTally {
  const { identifier } = key;
  let tally = counter.today.get(identifier);
  if (tally?.day !== day) {
    if (tally !== undefined) counter.ended.push(tally);
    tally = newTally(identifier, day);
    counter.today.set(identifier, tally);
    counter.onCount();
  }
  key.tally = tally;
  return tally;
}

function addTally({ today, ended }: UsageCounter, more: Tally): void {
  const tally = today.get(more.identifier);
  if (tally === undefined) today.set(more.identifier, { ...more, isTaken: false });
  else if (tally.day !== more.day) ended.push({ ...more, isTaken: false });
  else {
    for (const outcome of USAGE_OUTCOMES) tally[outcome] += more[outcome];
    tally.lastUsedAt = Math.max(tally.lastUsedAt, more.lastUsedAt);
  }
}

function newTally(identifier: string, day: number): OpenTally {
  return { identifier, day, ...eachOutcome(() => 0), lastUsedAt: 0, isTaken: false };
}
