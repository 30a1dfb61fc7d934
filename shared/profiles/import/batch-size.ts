import type { Clock } from '../../clock.ts';

/** Batches grow and shrink so that each holds the write lock for about this long: half of the promised maximum. */
const TARGET_LOCK_MS = 50;

const MAX_LINES = 1_000;

/** The size of batches, in lines, adapted to the speed of this machine. */
export type BatchSize = {
  maxLines: () => number;
  timed: (act: () => void) => void;
};

/** Lets others run between batches: those waiting for the lock, and other work of this process. */
export function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Starts with batches of a quarter of the maximum. */
export function createBatchSize(clock: Clock): BatchSize {
  let maxLines = MAX_LINES / 4;
  return {
    maxLines: () => maxLines,
    timed: (act) => {
      const startedMs = clock.monotonicMs();
      act();
      const tookMs = clock.monotonicMs() - startedMs;
      if (tookMs > TARGET_LOCK_MS) maxLines = Math.max(1, Math.floor(maxLines / 2));
      else if (tookMs < TARGET_LOCK_MS / 2) maxLines = Math.min(MAX_LINES, maxLines * 2);
    },
  };
}
