import type { RateLimit } from './rate-limit.ts';

/**
 * The exact record of what one rate limit has admitted: a ring of time stamps, at most 1 024 however large the quota.
 *
 * Up to a quota of 1 024 each stamp stands for one request, so the count is exact. Above it each stamp stands for a group
 * of `groupSize` consecutive requests and holds the time of the group's last one, so a group is counted until all of it
 * is out of the window: never one too many is admitted, and at most `groupSize - 1` (under 0.1 % of the quota) too few.
 *
 * A request is in the window while it is *at most* `windowSeconds` old: a closed window, so that no interval of that
 * length, wherever it is laid, holds more than the quota. `now` is any clock in milliseconds that never goes back, in
 * steps of 1/1024 ms so that every sum below is exact ({@link quantise}).
 *
 * Time is counted in steps of the ring's own, so that a stamp has 32 bits: a step is less than a 2^30th of the window.
 * Stamps are kept modulo 2^32. That is unambiguous, because only stamps of the last two windows are ever read.
 */
export type Ring = {
  /** How many requests any window may hold. */
  readonly quota: number;
  /** The quota that the groups were laid out for: another one only for a while after the limit was changed ({@link refitRing}). */
  readonly capacity: number;
  readonly windowMs: number;
  readonly groupSize: number;
  /** The length of a step: 1/1024 ms for windows up to half an hour, 1/16 ms for a day, 2 ms for 31 days. */
  readonly stepMs: number;
  /** A group's stamp is at `group % stamps.length`. It grows with what is in the window, up to {@link ringLength}. */
  stamps: Uint32Array;
  /** The step of the newest request, not reduced. */
  newestStep: number;
  /** Position after the newest request; a position's group is `floor(position / groupSize)`. */
  head: number;
  /** The oldest group that is still in the window. */
  tail: number;
  /** The head up to which the requests are in the quota file. */
  savedHead: number;
  /** How many requests it admitted when it was last asked ({@link noteLevel}), and the whole seconds within which no more. */
  remaining: number;
  resetSeconds: number;
};

/** How many stamps a ring keeps at most. */
export const MAX_GROUPS = 1_024;

/** A ring begins small: most keys use a fraction of their quota, and 10 000 keys have to fit into memory. */
const FIRST_LENGTH = 8;

/** A ring that is too short grows by this factor: arrays that were outgrown stay in the process's memory for a while. */
const GROWTH = 16;

/** How many stamps the ring of a quota has. */
export function ringLength(quota: number): number {
  return Math.ceil(quota / groupSizeOf(quota));
}

function groupSizeOf(quota: number): number {
  return Math.ceil(quota / MAX_GROUPS);
}

/**
 * An empty ring for a rate limit, laid out for a quota of `capacity`. `stamps` may be given, {@link ringLength} of the
 * capacity long, to lay it into shared memory.
 */
export function createRing(
  limit: RateLimit,
  capacity: number = limit.quota,
  stamps: Uint32Array = new Uint32Array(Math.min(FIRST_LENGTH, ringLength(capacity))),
): Ring {
  const windowMs = limit.windowSeconds * 1000;
  // A power of two: a whole number of steps makes a second, since 1000 is 8 times 125.
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

/** A time in milliseconds rounded down to 1/1024 ms: dates of this millennium then add and subtract without rounding. */
export function quantise(ms: number): number {
  return Math.floor(ms * 1024) / 1024;
}

/** The group of the newest request; -1 where there never was one. */
export function newestGroup(ring: Ring): number {
  return Math.floor((ring.head - 1) / ring.groupSize);
}

/** A time in steps, not before the newest request: another thread may have asked for the time later and spent earlier. */
function stepAt(ring: Ring, now: number): number {
  return Math.max(ring.newestStep, Math.floor(now / ring.stepMs));
}

/** How many steps before `step` the newest request of a group was, for a group that is in the window. */
function ageOf(ring: Ring, group: number, step: number): number {
  return (step - (ring.stamps[group % ring.stamps.length] as number)) >>> 0;
}

/** Lays a ring into as little memory as `groups` groups need, where it has to grow by a good step. */
export function fitRing(ring: Ring, groups: number): void {
  const least = groups > ring.stamps.length ? GROWTH * ring.stamps.length : FIRST_LENGTH;
  const stamps = new Uint32Array(Math.min(ringLength(ring.capacity), Math.max(groups, least)));
  for (let group = ring.tail; group <= newestGroup(ring); group++) {
    stamps[group % stamps.length] = ring.stamps[group % ring.stamps.length] as number;
  }
  ring.stamps = stamps;
}

/** Drops what has left the window, and returns how many requests more may be admitted at `now`. Amortised O(1). */
export function remainingAt(ring: Ring, now: number): number {
  return Math.max(0, ring.quota - usedAt(ring, now));
}

/** Drops what has left the window at `now`, and returns how many requests are in it. Amortised O(1). */
export function usedAt(ring: Ring, now: number): number {
  const step = stepAt(ring, now);
  const window = ring.windowMs / ring.stepMs;
  const newest = newestGroup(ring);
  if (step - ring.newestStep > window) ring.tail = Math.max(ring.tail, newest + 1);
  else while (ring.tail <= newest && ageOf(ring, ring.tail, step) > window) ring.tail++;
  // The last group may have left the window half filled: the next request opens a new one.
  if (ring.tail * ring.groupSize > ring.head) ring.head = ring.tail * ring.groupSize;
  return ring.head - ring.tail * ring.groupSize;
}

/** Records `count` requests at `now`, which {@link remainingAt} has just said there is room for. O(count / groupSize). */
export function record(ring: Ring, now: number, count: number): void {
  const first = Math.floor(ring.head / ring.groupSize);
  const last = Math.floor((ring.head + count - 1) / ring.groupSize);
  if (last - ring.tail >= ring.stamps.length) fitRing(ring, last - ring.tail + 1);
  ring.head += count;
  ring.newestStep = stepAt(ring, now);
  for (let group = first; group <= last; group++) ring.stamps[group % ring.stamps.length] = ring.newestStep;
}

/**
 * Null where `count` requests fit into every one of these rings at `now`; else the milliseconds after which they will,
 * Infinity where that is more than a quota.
 */
export function waitForAllMs(rings: readonly Ring[], now: number, count: number): number | null {
  let hasRoom = true;
  for (const ring of rings) hasRoom = remainingAt(ring, now) >= count && hasRoom;
  return hasRoom ? null : Math.max(...rings.map((ring) => waitMs(ring, now, count)));
}

/** Milliseconds after which `count` requests fit, at the earliest; 0 if they fit now, Infinity if they never can. */
export function waitMs(ring: Ring, now: number, count: number): number {
  if (count > ring.quota) return Number.POSITIVE_INFINITY;
  const missing = count + usedAt(ring, now) - ring.quota;
  if (missing <= 0) return 0;
  const group = ring.tail + Math.ceil(missing / ring.groupSize) - 1;
  // Exactly a window old is still in the window: one step more.
  const step = stepAt(ring, now);
  return (step - ageOf(ring, group, step) + 1) * ring.stepMs + ring.windowMs - now;
}

/** `Retry-After`: the least number of whole seconds whose passing is enough, from {@link waitMs}. */
export function retryAfterSeconds(wait: number): number {
  return Math.ceil(wait / 1000);
}

/** `t` of `RateLimit`: whole seconds, rounded down, within which no more than what remains can be used. */
export function resetSeconds(ring: Ring, now: number): number {
  if (remainingAt(ring, now) === ring.quota) return ring.windowMs / 1000;
  const age = ageOf(ring, ring.tail, stepAt(ring, now)) * ring.stepMs;
  return Math.floor((ring.windowMs - age) / 1000);
}

/**
 * A ring that holds the same requests for a limit of the same window and maybe another quota. Where the requests in the
 * window are more than that quota the layout stays as it is, and admits nothing; once they fit into it, they are laid
 * out as the quota wants, so that it is exact again for every request that it admits. A request may be noted as newer than it is by
 * up to one group's length, never as older, so that a change never admits one too many.
 */
export function refitRing(ring: Ring, limit: RateLimit, now: number): Ring {
  const used = usedAt(ring, now);
  if (ring.capacity === limit.quota || used > limit.quota) return { ...ring, quota: limit.quota };
  const refitted = createRing(limit);
  const groups = Math.ceil(used / refitted.groupSize);
  fitRing(refitted, groups);
  for (let group = 0; group < groups; group++) {
    const last = ring.tail * ring.groupSize + Math.min((group + 1) * refitted.groupSize, used) - 1;
    const former = Math.floor(last / ring.groupSize);
    refitted.stamps[group % refitted.stamps.length] = ring.stamps[former % ring.stamps.length] as number;
  }
  refitted.head = used;
  refitted.newestStep = ring.newestStep;
  return refitted;
}

/** Notes where a ring stands at `now`, for the answer. */
export function noteLevel(ring: Ring, now: number): void {
  ring.remaining = remainingAt(ring, now);
  ring.resetSeconds = resetSeconds(ring, now);
}
