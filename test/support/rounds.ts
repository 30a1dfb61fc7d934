// Random numbers for tests, and the number of repetitions of random tests.

const factor = Number(process.env.TEST_ROUNDS ?? 0.25);
if (!(factor > 0)) throw new Error('TEST_ROUNDS must be a number above 0; 1 runs all rounds.');

/** The seed of all random numbers in tests: TEST_SEED, or a new one for each process. A run prints it. */
export const SEED = Number(process.env.TEST_SEED ?? crypto.getRandomValues(new Int32Array(1))[0]);
if (SEED !== (SEED | 0)) throw new Error('TEST_SEED must be an integer of 32 bits.');

/**
 * The number of rounds of kills, or of samples of a property, if all are `full`: a quarter by default, all in `bun
 * run test:long`, and at least one. The environment variable TEST_ROUNDS sets the factor.
 */
export function rounds(full: number): number {
  return Math.max(1, Math.ceil(full * factor));
}

/** Numbers from 0 to below 1 that depend only on {@link SEED} and `name`. Use each name once. */
export function seededRandom(name: string): () => number {
  // Mulberry32.
  let state = SEED ^ Bun.hash.crc32(name);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
