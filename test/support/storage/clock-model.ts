import { SETTLE_MS } from '../../../shared/clock.ts';
import type { TestClock } from '../world.ts';

/**
 * A model of a test clock's `settledMs` that keeps every reading. Call `see` whenever the clock is read; it returns
 * the settled time, or null. Jumps undone before the next reading do not count. The clock must be a `testClock` with
 * the same `isSettled`.
 */
export function createClockModel(clock: TestClock, isSettled = true): { see: () => number | null } {
  const aheadMs = () => clock.nowMs() - Math.floor(clock.monotonicMs());
  const seen = [{ atMs: isSettled ? clock.monotonicMs() - SETTLE_MS : clock.monotonicMs(), aheadMs: aheadMs() }];
  return {
    see: () => {
      const atMs = clock.monotonicMs();
      seen.push({ atMs, aheadMs: aheadMs() });
      const changes = seen.filter((one, at) => at === 0 || one.aheadMs !== seen[at - 1]?.aheadMs);
      return changes.every((one) => one.atMs <= atMs - SETTLE_MS) ? clock.nowMs() : null;
    },
  };
}
