import type { Clock } from '../clock.ts';
import { quantise } from './ring.ts';

/**
 * The time by which limits are counted, relative to a monotonic clock: the time at that clock's zero, and the earliest time
 * that may be shown. Milliseconds since 1970. Threads that share a monotonic clock and a timeline have the same time.
 */
export type Timeline = { base: number; notBefore: number };

/** A timeline that begins at the wall time, but never before `notBefore`, the last time that an earlier run has stored. */
export function startTimeline(clock: Clock, notBefore: number): Timeline {
  return { base: Math.max(clock.nowMs(), notBefore) - clock.monotonicMs(), notBefore };
}

/**
 * Returns a function that tells the time of a timeline, milliseconds since 1970 in steps of 1/1024. It runs with the
 * monotonic clock, so it never goes back, whatever is done to the wall clock.
 */
export function limitsTime(clock: Clock, { base, notBefore }: Timeline): () => number {
  let last = notBefore;
  return () => {
    last = Math.max(last, quantise(base + clock.monotonicMs()));
    return last;
  };
}
