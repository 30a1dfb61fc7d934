import type { RateLimit } from './rate-limit.ts';

/**
 * The sliding window of one rate limit: a ring buffer of at most 1024 time stamps, however large the quota is.
 *
 * Up to a quota of 1024, each stamp stands for one request, so the count is exact. Above, each stamp stands for a group of
 * `groupSize` consecutive requests and has the time of the newest one. A group counts until its newest request has left the
 * window, so never a request too many is admitted, and at most `groupSize - 1` (under 0.1% of the quota) too few.
 *
 * A request counts until it is older than `windowSeconds`, so that no interval of that length has more requests than the quota.
 * `now` is always the time of a clock in milliseconds that never goes back, a multiple of 1/1024 ms, so that all sums are exact
 * ({@link quantise}).
 *
 * Stamps are 32-bit numbers: the time in steps of `stepMs`, modulo 2^32. They are unambiguous, because a window has
 * fewer than 2^31 steps and only stamps of the last two windows are read.
 */
export type Ring = {
  readonly quota: number;
  /** The quota for which the groups are laid out; it differs from `quota` for a while after a change (`refitRing`). */
  readonly capacity: number;
  readonly windowMs: number;
  readonly groupSize: number;
  /** The length of a step: 1/1024 ms for windows up to half an hour, 1/16 ms for a day, 2 ms for 31 days. */
  readonly stepMs: number;
  /** The stamp of a group is at `group % stamps.length`. The array grows with use, up to {@link ringLength}. */
  stamps: Uint32Array;
  /** The step of the newest request, without the modulo. */
  newestStep: number;
  /** The position after the newest request. The request at position `p` belongs to group `floor(p / groupSize)`. */
  head: number;
  /** The oldest group in the window. */
  tail: number;
  /** The value of `head` when the ring was last saved to the quota file. */
  savedHead: number;
  /** As of the last {@link noteLevel}: how many more requests fit, and the whole seconds for which no more will. */
  remaining: number;
  resetSeconds: number;
};

/** The maximum number of stamps in a ring. */
export const MAX_GROUPS = 1_024;

/** The initial length of `stamps`: most keys use a fraction of their quota, and 10 000 keys must fit into memory. */
const FIRST_LENGTH = 8;

/** The factor by which `stamps` grows: in few steps, because outgrown arrays stay in the process's memory for a while. */
const GROWTH = 16;

/** The number of stamps of a full ring with this quota. */
export function ringLength(quota: number): number {
  return Math.ceil(quota / groupSizeOf(quota));
}

function groupSizeOf(quota: number): number {
  return Math.ceil(quota / MAX_GROUPS);
}

/**
 * Makes an empty ring for a rate limit, laid out for a quota of `capacity`. `stamps` may be an array in shared memory with the
 * {@link ringLength} of the capacity.
 */
export function createRing(
  limit: RateLimit,
  capacity: number = limit.quota,
  stamps: Uint32Array = new Uint32Array(Math.min(FIRST_LENGTH, ringLength(capacity))),
): Ring {
  const windowMs = limit.windowSeconds * 1000;
  // A step is a power of two and at most 2 ms, so a second is a whole number of steps.
  let stepMs = 1 / 1024;
  while (windowMs / stepMs >= 2 ** 31) stepMs *= 2;
  return {
    quota: limit.quota,
    capacity,
    windowMs,
    groupSize: groupSizeOf(capacity),
    stepMs,
    stamps,
    newestStep: 0,
    head: 0,
    tail: 0,
    savedHead: 0,
    remaining: limit.quota,
    resetSeconds: limit.windowSeconds,
  };
}

/** Rounds a time in milliseconds down to 1/1024 ms, so that sums and differences of dates of this millennium are exact. */
export function quantise(ms: number): number {
  return Math.floor(ms * 1024) / 1024;
}

/** The group of the newest request; -1 if there never was a request. */
export function newestGroup(ring: Ring): number {
  return Math.floor((ring.head - 1) / ring.groupSize);
}

/** A time in steps, at least that of the newest request: another thread may have read the clock later, but spent earlier. */
function stepAt(ring: Ring, now: number): number {
  return Math.max(ring.newestStep, Math.floor(now / ring.stepMs));
}

/** The age of a group's newest request at `step`, in steps. The group must be in the window. */
function ageOf(ring: Ring, group: number, step: number): number {
  return (step - (ring.stamps[group % ring.stamps.length] as number)) >>> 0;
}

/** Replaces `stamps` with an array that has room for `groups` groups, and copies the stamps in the window. */
export function fitRing(ring: Ring, groups: number): void {
  const min = groups > ring.stamps.length ? GROWTH * ring.stamps.length : FIRST_LENGTH;
  const stamps = new Uint32Array(Math.min(ringLength(ring.capacity), Math.max(groups, min)));
  for (let group = ring.tail; group <= newestGroup(ring); group++) {
    stamps[group % stamps.length] = ring.stamps[group % ring.stamps.length] as number;
  }
  ring.stamps = stamps;
}

/** Drops the groups that have left the window at `now`, and returns how many more requests fit. Amortised O(1). */
export function remainingAt(ring: Ring, now: number): number {
  return Math.max(0, ring.quota - usedAt(ring, now));
}

/** Drops the groups that have left the window at `now`, and returns the number of requests in it. Amortised O(1). */
export function usedAt(ring: Ring, now: number): number {
  const step = stepAt(ring, now);
  const window = ring.windowMs / ring.stepMs;
  const newest = newestGroup(ring);
  if (step - ring.newestStep > window) ring.tail = Math.max(ring.tail, newest + 1);
  else while (ring.tail <= newest && ageOf(ring, ring.tail, step) > window) ring.tail++;
  // The newest group may have left the window before it was full; the next request then starts a new group.
  if (ring.tail * ring.groupSize > ring.head) ring.head = ring.tail * ring.groupSize;
  return ring.head - ring.tail * ring.groupSize;
}

/** The age of the newest request of each group in the window, in milliseconds, the oldest group first. */
export function groupAgesMs(ring: Ring, now: number): number[] {
  usedAt(ring, now);
  const step = stepAt(ring, now);
  const groups = newestGroup(ring) + 1 - ring.tail;
  return Array.from({ length: groups }, (_, at) => ageOf(ring, ring.tail + at, step) * ring.stepMs);
}

/** Records `count` requests at `now`, which must fit according to {@link remainingAt}. O(count / groupSize). */
export function record(ring: Ring, now: number, count: number): void {
  const first = Math.floor(ring.head / ring.groupSize);
  const last = Math.floor((ring.head + count - 1) / ring.groupSize);
  if (last - ring.tail >= ring.stamps.length) fitRing(ring, last - ring.tail + 1);
  ring.head += count;
  ring.newestStep = stepAt(ring, now);
  for (let group = first; group <= last; group++) ring.stamps[group % ring.stamps.length] = ring.newestStep;
}

/** The milliseconds until `count` requests fit into every ring: null if they fit now, Infinity if they never do. */
export function waitForAllMs(rings: readonly Ring[], now: number, count: number): number | null {
  let hasRoom = true;
  for (const ring of rings) hasRoom = remainingAt(ring, now) >= count && hasRoom;
  return hasRoom ? null : Math.max(...rings.map((ring) => waitMs(ring, now, count)));
}

/** The milliseconds until `count` requests fit; 0 if they fit now, Infinity if `count` exceeds the quota. */
export function waitMs(ring: Ring, now: number, count: number): number {
  if (count > ring.quota) return Number.POSITIVE_INFINITY;
  const missing = count + usedAt(ring, now) - ring.quota;
  if (missing <= 0) return 0;
  const group = ring.tail + Math.ceil(missing / ring.groupSize) - 1;
  // A request that is exactly a window old still counts, so one step is added.
  const step = stepAt(ring, now);
  return (step - ageOf(ring, group, step) + 1) * ring.stepMs + ring.windowMs - now;
}

/** The value of `Retry-After` for the milliseconds from {@link waitMs}. */
export function retryAfterSeconds(wait: number): number {
  return Math.ceil(wait / 1000);
}

/** The value of `t` in `RateLimit`: the seconds, rounded down, in which no more than the remaining requests fit. */
export function resetSeconds(ring: Ring, now: number): number {
  if (remainingAt(ring, now) === ring.quota) return ring.windowMs / 1000;
  const age = ageOf(ring, ring.tail, stepAt(ring, now)) * ring.stepMs;
  return Math.floor((ring.windowMs - age) / 1000);
}

/** Updates `remaining` and `resetSeconds` of the ring, for the response headers. */
export function noteLevel(ring: Ring, now: number): void {
  ring.remaining = remainingAt(ring, now);
  ring.resetSeconds = resetSeconds(ring, now);
}
