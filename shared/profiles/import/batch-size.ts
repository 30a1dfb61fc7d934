import type { Clock } from '../../clock.ts';

/** Batches grow and shrink so that the write lock is held for about this long, milliseconds: half of what is promised. */
const WANTED_LOCK_MS = 50;

/** The most lines of a batch. */
const MAX_LINES = 1_000;

/** How many lines a batch may have, as fast as this machine is. */
export type BatchSize = {
  maxLines: () => number;
  /** Runs what holds the write lock, and measures how long it takes. */
  timed: (act: () => void) => void;
};

/** Lets others have their turn between batches: at the lock, and in this process. */
export function giveTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Begins with batches of a quarter of the most lines. */
export function createBatchSize(clock: Clock): BatchSize {
  let maxLines = MAX_LINES / 4;
  return {
    maxLines: () => maxLines,
    timed: (act) => {
      const startedMs = clock.monotonicMs();
      act();
      const tookMs = clock.monotonicMs() - startedMs;
      if (tookMs > WANTED_LOCK_MS) maxLines = Math.max(1, Math.floor(maxLines / 2));
      else if (tookMs < WANTED_LOCK_MS / 2) maxLines = Math.min(MAX_LINES, maxLines * 2);
    },
  };
}
