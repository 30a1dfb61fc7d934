import { AppError } from '../../errors.ts';

/** How often a thread retries a taken lock without sleeping: locks are held for well under a microsecond. */
const SPINS = 1_000;

/** How long the thread sleeps between later tries, in milliseconds: the lock's holder is not running, or dead. */
const SLEEP_MS = 1;

/**
 * How many of these sleeps a worker waits at most. The locks of a dead thread are freed much sooner, and an error 503
 * is better than a server that hangs.
 */
export const MAX_SLEEPS = 2_000;

/**
 * Takes the lock at index `at` of shared memory, waiting for it. A lock is 0 while it is free, otherwise the number of
 * the thread that holds it, so that {@link freeLock} can free the locks of a thread that died. Throws `busy` after
 * `maxSleeps` sleeps of a millisecond. The main thread frees the locks of dead threads, so it passes a small `maxSleeps`
 * and never blocks for long.
 */
export function takeLock(words: Int32Array, at: number, holder: number, maxSleeps: number): void {
  let sleeps = 0;
  for (let turn = 1; Atomics.compareExchange(words, at, 0, holder) !== 0; turn++) {
    if (turn < SPINS) continue;
    if (sleeps++ >= maxSleeps) throw new AppError('busy', 'A thread holds a lock and does not go on.');
    const other = Atomics.load(words, at);
    if (other !== 0) Atomics.wait(words, at, other, SLEEP_MS);
  }
}

/** Releases a lock that this thread holds. */
export function releaseLock(words: Int32Array, at: number): void {
  Atomics.store(words, at, 0);
}

/** Frees a lock if it is held by the thread with this number, which has ended. */
export function freeLock(words: Int32Array, at: number, holder: number): void {
  Atomics.compareExchange(words, at, holder, 0);
}
