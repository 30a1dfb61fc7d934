import type { Clock } from '../clock.ts';
import { quantise } from './ring.ts';

/**
 * The time by which quotas are counted, milliseconds since 1970 in steps of 1/1024: it runs with the monotonic clock
 * and begins at the wall time, but never before `notBefore`, the last time that an earlier run has stored. So it never
 * goes back, whatever is done to the wall clock.
 */
export function startQuotaClock(clock: Clock, notBefore: number): () => number {
  const base = Math.max(clock.nowMs(), notBefore) - clock.monotonicMs();
  let last = notBefore;
  return () => {
    last = Math.max(last, quantise(base + clock.monotonicMs()));
    return last;
  };
}
