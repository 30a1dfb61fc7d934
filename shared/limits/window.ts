import type { RateLimit } from './rate-limit.ts';

/**
 * The sliding window of one rate limit. A request counts until it is older than the window, so that no interval of that length
 * has more requests than the quota.
 *
 * Requests are kept in groups, each with the time of its newest request and their number. Up to a quota of 1024 a group only
 * has requests of the same moment, so the count is exact. Above, up to a thousandth of the quota share a group; it counts until
 * its newest request has left the window, so never a request too many is admitted, and less than 0.1% of the quota too few.
 */
export type Window = {
  readonly quota: number;
  readonly windowMs: number;
  /** When the newest request of each group was made, oldest group first: milliseconds of a clock that never goes back. */
  readonly times: number[];
  /** The number of requests in each group. */
  readonly counts: number[];
  /** The oldest group that is still in the window. */
  first: number;
  /** The requests in the window. */
  used: number;
  /** As of the last {@link noteLevel}: how many more requests fit, and the whole seconds for which no more will. */
  remaining: number;
  resetSeconds: number;
};

/** The most groups that a full window needs. */
const MAX_GROUPS = 1_024;

/** How many groups that have left the window may wait to be removed from the arrays, which copies the others. */
const MAX_LEFT = 64;

/** The unit of times, so that sums and differences of dates of this millennium are exact. */
export const TICK_MS = 1 / 1_024;

/** Rounds a time down to a multiple of {@link TICK_MS}. */
export function quantise(ms: number): number {
  return Math.floor(ms / TICK_MS) * TICK_MS;
}

/** The window of a limit: empty, or with the requests of a window of the same length, whose quota was another. */
export function newWindow({ quota, windowSeconds }: RateLimit, former?: Window): Window {
  const { times = [], counts = [], first = 0, used = 0 } = former ?? {};
  return { quota, windowMs: windowSeconds * 1000, times, counts, first, used, remaining: quota, resetSeconds: 0 };
}

/** Drops the groups that have left the window at `now`. Amortised O(1). */
export function expire(window: Window, now: number): void {
  const { times, counts, windowMs } = window;
  while (window.first < times.length && now - (times[window.first] as number) > windowMs) {
    window.used -= counts[window.first] as number;
    window.first++;
  }
}

/** Records `count` requests at `now`, at which the window was expired. */
export function record(window: Window, now: number, count: number): void {
  const { times, counts, quota, first } = window;
  if (first > MAX_LEFT && 2 * first > times.length) {
    times.splice(0, first);
    counts.splice(0, first);
    window.first = 0;
  }
  const newest = times.length - 1;
  const inNewest = (counts[newest] ?? 0) + count;
  const sharesGroup = times[newest] === now || inNewest <= Math.ceil(quota / MAX_GROUPS);
  if (newest >= window.first && sharesGroup) {
    times[newest] = now;
    counts[newest] = inNewest;
  } else {
    times.push(now);
    counts.push(count);
  }
  window.used += count;
}

/** The milliseconds until `count` requests fit; 0 if they fit now, Infinity if they never do. */
export function waitMs(window: Window, now: number, count: number): number {
  const { quota, windowMs, times, counts } = window;
  if (count > quota) return Number.POSITIVE_INFINITY;
  let missing = window.used + count - quota;
  if (missing <= 0) return 0;
  let group = window.first;
  while (missing > (counts[group] as number)) missing -= counts[group++] as number;
  // A request that is exactly a window old still counts, so one tick is added.
  return (times[group] as number) + windowMs + TICK_MS - now;
}

/** Updates `remaining` and `resetSeconds`. */
export function noteLevel(window: Window, now: number): void {
  expire(window, now);
  const { quota, windowMs, used, times, first } = window;
  window.remaining = Math.max(0, quota - used);
  // Rounded down: within these seconds no more than the remaining requests fit.
  const resetMs = used === 0 ? windowMs : (times[first] as number) + windowMs - now;
  window.resetSeconds = Math.floor(resetMs / 1000);
}
