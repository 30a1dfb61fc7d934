import type { RateLimit } from './rate-limit.ts';

/**
 * The exact record of what one rate limit has admitted: a ring of time stamps, at most 1 024 however large the quota.
 *
 * Up to a quota of 1 024 each stamp stands for one request, so the count is exact. Above it each stands for a group of
 * `groupSize` consecutive requests and holds the time of the group's last one, so a group is counted until all of it
 * is out of the window: never one too many is admitted, and at most `groupSize - 1` (under 0.1 % of the quota) too few.
 *
 * A request is in the window while it is *at most* `windowSeconds` old: a closed window, so that no interval of that
 * length, wherever it is laid, holds more than the quota. `now` is any clock in milliseconds that never goes back, in steps of 1/1024 ms so that
 * every sum below is exact ({@link quantise}).
 */
export type Ring = {
  readonly quota: number;
  readonly windowMs: number;
  readonly groupSize: number;
  /** A group's stamp is at `group % stamps.length`; grows with what is in the window, up to {@link ringLength}. */
  stamps: Float64Array;
  /** Position after the newest request; a position's group is `floor(position / groupSize)`. */
  head: number;
  /** The oldest group that is still in the window. */
  tail: number;
};

/** How many stamps a ring keeps at most. */
export const MAX_GROUPS = 1_024;

/** A ring begins small: most keys use a fraction of their quota, and 10 000 keys have to fit into memory. */
const FIRST_LENGTH = 8;

/** How many stamps the ring of a quota has. */
export function ringLength(quota: number): number {
  return Math.ceil(quota / groupSizeOf(quota));
}

function groupSizeOf(quota: number): number {
  return Math.ceil(quota / MAX_GROUPS);
}

/** An empty ring for a rate limit; `stamps` may be given, {@link ringLength} long, to lay it into shared memory. */
export function createRing(
  limit: RateLimit,
  stamps = new Float64Array(Math.min(FIRST_LENGTH, ringLength(limit.quota))),
): Ring {
  return {
    quota: limit.quota,
    windowMs: limit.windowSeconds * 1000,
    groupSize: groupSizeOf(limit.quota),
    stamps,
    head: 0,
    tail: 0,
  };
}

/** A time in milliseconds rounded down to 1/1024 ms: dates of this millennium then add and subtract without rounding. */
export function quantise(ms: number): number {
  return Math.floor(ms * 1024) / 1024;
}

/** The time of a group's newest request, for a group that is in the window. */
export function stampOf(ring: Ring, group: number): number {
  return ring.stamps[group % ring.stamps.length] as number;
}

/** The group of the newest request; -1 where there never was one. */
export function newestGroup(ring: Ring): number {
  return Math.floor((ring.head - 1) / ring.groupSize);
}

/** Lays a ring into as little memory as `groups` groups need, twice what it has at the least where it has to grow. */
export function fitRing(ring: Ring, groups: number): void {
  const wanted =
    groups > ring.stamps.length ? Math.max(groups, 2 * ring.stamps.length) : Math.max(groups, FIRST_LENGTH);
  const length = Math.min(ringLength(ring.quota), wanted);
  const stamps = new Float64Array(length);
  for (let group = ring.tail; group <= newestGroup(ring); group++) stamps[group % length] = stampOf(ring, group);
  ring.stamps = stamps;
}

/** Forgets what has left the window, and returns how many requests more may be admitted at `now`. Amortised O(1). */
export function remainingAt(ring: Ring, now: number): number {
  while (ring.tail * ring.groupSize < ring.head && now - stampOf(ring, ring.tail) > ring.windowMs) ring.tail++;
  // The last group may have left the window half filled: the next request opens a new one.
  if (ring.tail * ring.groupSize > ring.head) ring.head = ring.tail * ring.groupSize;
  return ring.quota - (ring.head - ring.tail * ring.groupSize);
}

/** Records `count` requests at `now`, which {@link remainingAt} has just said there is room for. O(count / groupSize). */
export function record(ring: Ring, now: number, count: number): void {
  const first = Math.floor(ring.head / ring.groupSize);
  const last = Math.floor((ring.head + count - 1) / ring.groupSize);
  if (last - ring.tail >= ring.stamps.length) fitRing(ring, last - ring.tail + 1);
  ring.head += count;
  for (let group = first; group <= last; group++) ring.stamps[group % ring.stamps.length] = now;
}

/**
 * Milliseconds after which `count` requests fit, at the earliest; 0 if they fit now, Infinity if they never can.
 * They fit only *after* that moment, since a request is still counted when it is exactly a window old.
 */
export function waitMs(ring: Ring, now: number, count: number): number {
  if (count > ring.quota) return Number.POSITIVE_INFINITY;
  const missing = count - remainingAt(ring, now);
  if (missing <= 0) return 0;
  const group = ring.tail + Math.ceil(missing / ring.groupSize) - 1;
  return stampOf(ring, group) + ring.windowMs - now;
}

/** `Retry-After`: the least number of whole seconds whose passing is enough, from {@link waitMs} of a full ring. */
export function retryAfterSeconds(wait: number): number {
  return Math.floor(wait / 1000) + 1;
}

/** `t` of `RateLimit`: whole seconds, rounded down, within which no more than what remains can be used. */
export function resetSeconds(ring: Ring, now: number): number {
  if (remainingAt(ring, now) === ring.quota) return ring.windowMs / 1000;
  return Math.max(0, Math.floor((stampOf(ring, ring.tail) + ring.windowMs - now) / 1000));
}
