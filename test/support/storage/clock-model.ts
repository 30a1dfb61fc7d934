import { SETTLE_MS } from '../../../shared/clock.ts';
import type { TestClock } from '../world.ts';

/**
 * A model of `settledMs` of a test's clock, which keeps every reading. Call `see` whenever the clock is read; it returns the
 * settled time, or null. Jumps that are undone before the next reading don't count. The clock must have been made by
 * `testClock`, with the same `isSettled`.
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
