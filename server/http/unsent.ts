import { AppError } from '../../shared/errors.ts';

/** How many bytes of big answers that clients have not read yet may be held: for one key, and for all keys together. */
export const UNSENT_BYTES = { key: 8 * 1024 * 1024, all: 64 * 1024 * 1024 } as const;

/** A connection on which nothing moves for this long is closed (process/listener.ts), and what it held is released. */
const RETRY_AFTER_SECONDS = 10;

// The counts are a table in shared memory. Each worker has a row of its own, so that what a dead worker held can be taken
// away. The first column is the sum of the row. Each other column counts for the keys whose identifiers hash to it. Of two
// keys that both hold much, one pair in 4 095 has the same column, and shares one bound.

const COLUMNS = 4_096;

/** A worker's view of the counts. */
export type Unsent = {
  readonly counts: Int32Array;
  /** Where the worker's row begins. */
  readonly row: number;
};

/** Bytes that are counted as held, for one answer. */
export type Hold = {
  readonly unsent: Unsent;
  readonly column: number;
  bytes: number;
};

/** Makes memory for the counts of this many workers. */
export function createUnsentMemory(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(workers * COLUMNS * 4);
}

/** Opens the view of the worker whose row has this index, 0 or more. */
export function joinUnsent(memory: SharedArrayBuffer, row: number): Unsent {
  return { counts: new Int32Array(memory), row: row * COLUMNS };
}

/** Counts bytes for a key until they are released. Throws `busy`, and counts nothing, where a bound is exceeded. */
export function holdBytes(unsent: Unsent, identifier: string, bytes: number): Hold {
  const column = 1 + (Bun.hash.xxHash32(identifier) % (COLUMNS - 1));
  const hold = { unsent, column, bytes };
  // The bytes are counted before the sums are compared, so that two workers can't both take the last room.
  add(hold, bytes);
  if (sumOf(unsent.counts, column) <= UNSENT_BYTES.key && sumOf(unsent.counts, 0) <= UNSENT_BYTES.all) return hold;
  releaseHold(hold);
  throw new AppError(
    'busy',
    'Answers that were asked for before and not read yet leave no room for this one; read them first.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS, isForClient: true },
  );
}

/** Counts only this many bytes from now on; does nothing where fewer are counted already. */
export function shrinkHold(hold: Hold, bytes: number): void {
  if (bytes >= hold.bytes) return;
  add(hold, bytes - hold.bytes);
  hold.bytes = bytes;
}

/** Counts none of the bytes any more; may be called more than once. */
export function releaseHold(hold: Hold): void {
  shrinkHold(hold, 0);
}

/** Takes away what a worker held when it ended; `row` is the index of the worker's row. */
export function freeUnsentOf(memory: SharedArrayBuffer, row: number): void {
  new Int32Array(memory, row * COLUMNS * 4, COLUMNS).fill(0);
}

function add({ unsent: { counts, row }, column }: Hold, bytes: number): void {
  Atomics.add(counts, row + column, bytes);
  Atomics.add(counts, row, bytes);
}

/** The sum of a column over all workers. */
function sumOf(counts: Int32Array, column: number): number {
  let sum = 0;
  for (let at = column; at < counts.length; at += COLUMNS) sum += Atomics.load(counts, at);
  return sum;
}
