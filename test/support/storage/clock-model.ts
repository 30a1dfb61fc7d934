import { SETTLE_MS } from '../../../shared/clock.ts';
import type { TestClock } from '../world.ts';

/**
 * What `settledMs` of a test's clock must say, as a model that looks back over everything that was seen. Call `see` whenever
 * somebody asks the clock; it returns the settled time, or null. Jumps that nobody has seen before they were undone don't
 * count. The clock must have been made by `testClock`, with the same `isSettled`.
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
