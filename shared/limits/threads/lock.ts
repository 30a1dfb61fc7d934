import { AppError } from '../../errors.ts';

/** A thread that finds a lock taken asks so many times at once: what a lock guards takes well under a microsecond. */
const SPINS = 1_000;

/** Then the holder is not running, or dead, so the thread sleeps this long before it asks again. */
const NAP_MS = 1;

/** So many naps a worker waits at most. The locks of a dead thread are freed much sooner, and a 503 is better than a standstill. */
export const MOST_NAPS = 2_000;

/**
 * Takes the lock at a place of shared memory, waiting for it. A lock is 0 while it is free, else the number of the thread
 * that holds it, so that the locks of a thread that died can be found and freed ({@link freeLock}). Throws `busy` after
 * `mostNaps` naps of a millisecond: the main thread, which frees the locks of dead threads, must never wait long for one.
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

/** Gives a lock back. */
export function releaseLock(words: Int32Array, at: number): void {
  Atomics.store(words, at, 0);
}

/** Frees a lock if the thread with this number, which has ended, holds it. */
export function freeLock(words: Int32Array, at: number, holder: number): void {
  Atomics.compareExchange(words, at, holder, 0);
}
