import { AppError } from '../../errors.ts';

/** How many times a thread tries without sleeping: locks are held for well under a microsecond. */
const SPINS = 1_000;

/** The sleep between later tries: the holder of the lock is not running, or dead. */
const SLEEP_MS = 1;

/** How many sleeps a worker waits: the locks of a dead thread are freed much sooner, and a 503 is better than a hanging server. */
export const MAX_SLEEPS = 2_000;

/**
 * Waits for the lock at index `at` of shared memory, and takes it. A lock is 0 while it is free, otherwise the number of its
 * thread, so that {@link freeLock} can free the locks of a dead thread. Throws `busy` after `maxSleeps` sleeps of 1 ms. The main
 * thread frees the locks of dead threads, so it passes a small `maxSleeps` to never block for long.
 */
export function takeLock(words: Int32Array, at: number, holder: number, maxSleeps: number): void {
  let sleeps = 0;
  for (let turn = 1; Atomics.compareExchange(words, at, 0, holder) !== 0; turn++) {
    if (turn < SPINS) continue;
    if (sleeps++ >= maxSleeps) throw new AppError('busy', 'A thread holds a lock and does not release it.');
    const other = Atomics.load(words, at);
    if (other !== 0) Atomics.wait(words, at, other, SLEEP_MS);
  }
}

/** Releases a lock that this thread holds. */
export function releaseLock(words: Int32Array, at: number): void {
  Atomics.store(words, at, 0);
}

/** Frees a lock if the dead thread with this number holds it. */
export function freeLock(words: Int32Array, at: number, holder: number): void {
  Atomics.compareExchange(words, at, holder, 0);
}
