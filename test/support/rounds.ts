// Random numbers for tests, and the number of repetitions of random tests.

const factor = Number(process.env.TEST_ROUNDS ?? 0.25);
if (!(factor > 0)) throw new Error('TEST_ROUNDS must be a number above 0; 1 runs all rounds.');

/** Whether all rounds and conditions are tried, as in `bun run test:long`. */
export const TRIES_ALL = factor >= 1;

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

/** Half as many as {@link rounds} by default, or another `part` of it, for rounds that take long. */
export function fewRounds(full: number, part = 1 / 2): number {
  return TRIES_ALL ? rounds(full) : rounds(full * part);
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

/** Half of these values by default, drawn by {@link seededRandom} in another order; in `bun run test:long` all. */
export function drawHalf<T>(values: readonly T[], random: () => number): T[] {
  return draw(values, rounds(2 * values.length), random);
}

/** A quarter of these values by default, drawn as {@link drawHalf} does; in `bun run test:long` all. */
export function drawQuarter<T>(values: readonly T[], random: () => number): T[] {
  return draw(values, rounds(values.length), random);
}

function draw<T>(values: readonly T[], count: number, random: () => number): T[] {
  return Array.from(values, (value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ value }) => value);
}
