import type { Clock } from '../clock.ts';
import { quantise } from './ring.ts';

/** What ties the time of quotas to a monotonic clock: the time at that clock's zero, and the least time to show. */
export type Timeline = { base: number; notBefore: number };

/**
 * The time by which quotas are counted begins at the wall time, but never before `notBefore`, the last time that an
 * earlier run has stored.
 */
export function startTimeline(clock: Clock, notBefore: number): Timeline {
  return { base: Math.max(clock.nowMs(), notBefore) - clock.monotonicMs(), notBefore };
}

/**
 * Milliseconds since 1970 in steps of 1/1024, running with the monotonic clock. So it never goes back, whatever is done to
 * the wall clock; threads with one monotonic clock and one timeline have one time.
 */
export function quotaClock(clock: Clock, { base, notBefore }: Timeline): () => number {
  let last = notBefore;
  return () => {
    last = Math.max(last, quantise(base + clock.monotonicMs()));
    return last;
  };
}
