import { AppError } from '../../shared/errors.ts';

/** How many bytes of big answers that their clients have not read yet may be held: for one key, and for all. */
export const UNSENT_BYTES = { key: 8 * 1024 * 1024, all: 64 * 1024 * 1024 } as const;

/** After so many seconds a connection on which nothing moves is closed (server/process/listener.ts), and its answer is let go. */
const RETRY_AFTER_SECONDS = 10;

// All workers count in one table, each in a row of its own, so that what a dead worker held can be taken away. The first
// column is the sum of the row. Each other one counts for the keys whose identifiers hash to it; so two keys that both hold
// much share the bound of one, once in 4 095 times.

const COLUMNS = 4_096;

/** Memory for the counts of so many workers. */
export function createUnsentMemory(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(workers * COLUMNS * 4);
}

/** Bytes that are counted as held. */
export type Hold = {
  /** Counts only so many from now on. */
  shrinkTo: (bytes: number) => void;
  /** Counts none of them any more; may be called more than once. */
  release: () => void;
};

/** Counts so many bytes for a key until they are released. Throws `busy`, and counts nothing, where they are too many. */
export type Unsent = (identifier: string, bytes: number) => Hold;

/** A worker's way to the counts; its row is 0 or more. */
export function joinUnsent(memory: SharedArrayBuffer, row: number): Unsent {
  const counts = new Int32Array(memory);
  const first = row * COLUMNS;

  function add(column: number, bytes: number): void {
    Atomics.add(counts, first + column, bytes);
    Atomics.add(counts, first, bytes);
  }

  return (identifier, bytes) => {
    const column = 1 + (Bun.hash.xxHash32(identifier) % (COLUMNS - 1));
    let held = bytes;
    const shrinkTo = (left: number): void => {
      if (left >= held) return;
      add(column, left - held);
      held = left;
    };
    // Counted before it is compared: of two workers at once that want the last room, none gets too much.
    add(column, bytes);
    if (sumOf(counts, column) > UNSENT_BYTES.key || sumOf(counts, 0) > UNSENT_BYTES.all) {
      shrinkTo(0);
      throw new AppError(
        'busy',
        'Answers that were asked for before and not read yet leave no room for this one; read them first.',
        {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
          isForClient: true,
        },
      );
    }
    return { shrinkTo, release: () => shrinkTo(0) };
  };
}

/** Takes away what a worker held when it ended. */
export function freeUnsentOf(memory: SharedArrayBuffer, row: number): void {
  new Int32Array(memory, row * COLUMNS * 4, COLUMNS).fill(0);
}

/** A column's sum over all workers. */
function sumOf(counts: Int32Array, column: number): number {
  let sum = 0;
  for (let at = column; at < counts.length; at += COLUMNS) sum += Atomics.load(counts, at);
  return sum;
}
