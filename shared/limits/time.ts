import type { Clock } from '../clock.ts';
import { quantise } from './ring.ts';

/**
 * The time of the limits, relative to a monotonic clock: `base` is the time at that clock's zero, `notBefore` the earliest time to
 * return, both in milliseconds since 1970. Threads with the same monotonic clock and timeline read the same time.
 */
export type Timeline = { base: number; notBefore: number };

/** Starts a timeline at the wall clock's time, but never before `notBefore`, the last time that an earlier run has stored. */
export function startTimeline(clock: Clock, notBefore: number): Timeline {
  return { base: Math.max(clock.nowMs(), notBefore) - clock.monotonicMs(), notBefore };
}

/**
 * Returns a function that reads the time of a timeline, in milliseconds since 1970 and multiples of 1/1024 ms. The time follows
 * the monotonic clock, so it never goes back, even if the wall clock is set.
 */
export function limitsTime(clock: Clock, { base, notBefore }: Timeline): () => number {
  let last = notBefore;
  return () => {
    last = Math.max(last, quantise(base + clock.monotonicMs()));
    return last;
  };
}
