import { AppError } from '../errors.ts';

/** So often a lock is asked for again at once: what it guards takes well under a microsecond. */
const SPINS = 1_000;

/** Then its holder is not running, or dead: whoever frees a dead one's locks needs no more than this to be seen. */
const NAP_MS = 1;

/** So long a worker waits at most: a lock of a dead one is freed much sooner, and a 503 is better than a standstill. */
export const MOST_NAPS = 2_000;

/**
 * Takes the lock at this place of memory that threads share, waiting for it. A lock is 0 while it is free, else the number
 * of the thread that holds it, so that the locks of one that died can be told and freed ({@link freeLock}). Throws `busy`
 * after so many naps of a millisecond: who frees the locks of the dead may not wait for them.
 */
export function takeLock(words: Int32Array, at: number, holder: number, mostNaps: number): void {
  let naps = 0;
  for (let turn = 1; Atomics.compareExchange(words, at, 0, holder) !== 0; turn++) {
    if (turn < SPINS) continue;
    if (naps++ >= mostNaps) throw new AppError('busy', 'A thread holds a lock and does not go on.');
    const other = Atomics.load(words, at);
    if (other !== 0) Atomics.wait(words, at, other, NAP_MS);
  }
}

/** Gives it back. */
export function releaseLock(words: Int32Array, at: number): void {
  Atomics.store(words, at, 0);
}

/** Frees the lock where this thread, which has ended, holds it. */
export function freeLock(words: Int32Array, at: number, holder: number): void {
  Atomics.compareExchange(words, at, holder, 0);
}
