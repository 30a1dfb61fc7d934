import type { Clock } from '../../clock.ts';

/** How long a batch of a command's import holds the write lock: half of the promised maximum. */
const COMMAND_LOCK_MS = 50;

const MAX_LINES = 1_000;

/** The batches of an import; `ready` resolves once one may begin. */
export type Pace = { lockMs: number; ready: () => Promise<void> };

/** The pace of a command, whose connection waits for the lock itself. */
export const COMMAND_PACE: Pace = { lockMs: COMMAND_LOCK_MS, ready: async () => {} };

/** The size of batches, in lines, adapted to the speed of this machine. */
export type BatchSize = {
  maxLines: () => number;
  ready: () => Promise<void>;
  timed: (act: () => void) => void;
};

/** Lets others run between batches: those waiting for the lock, and other work of this process. */
export function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Batches grow and shrink so that each takes about `lockMs`; the first has five lines for each millisecond. */
export function createBatchSize(clock: Clock, { lockMs, ready }: Pace): BatchSize {
  let maxLines = 5 * lockMs;
  return {
    ready,
    maxLines: () => maxLines,
    timed: (act) => {
      const startedMs = clock.monotonicMs();
      act();
      const tookMs = clock.monotonicMs() - startedMs;
      if (tookMs > lockMs) maxLines = Math.max(1, Math.floor(maxLines / 2));
      else if (tookMs < lockMs / 2) maxLines = Math.min(MAX_LINES, maxLines * 2);
    },
  };
}
