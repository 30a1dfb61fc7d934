import fc from 'fast-check';
import { BUILT_COMMIT } from './cli.ts';

// Random numbers for tests, and the number of repetitions of random tests. bunfig.toml loads this before the first test file of each
// process.

process.env.TZ = 'UTC';

/** The seed of all random numbers in tests: TEST_SEED, or a new one for each process. A run prints it. */
export const SEED = Number(process.env.TEST_SEED ?? crypto.getRandomValues(new Int32Array(1))[0]);
if (SEED !== (SEED | 0)) throw new Error('TEST_SEED must be an integer of 32 bits.');

/** The number of rounds of kills, or of samples of a property: as many as `usual`, but four times that in `bun run test:long`. */
export function rounds(usual: number): number {
  return process.env.TEST_LONG === undefined ? usual : 4 * usual;
}

/** Numbers from 0 to below 1 that depend only on {@link SEED} and `name`. Use each name once. */
export function seededRandom(name: string): () => number {
  let drawn = 0;
  return () => Bun.hash.xxHash32(`${name} ${drawn++}`, SEED >>> 0) / 2 ** 32;
}

/**
 * Any character, surrogates only in pairs. fast-check's unit `binary` is the same, but first lists all of them, which takes a
 * second, and memory until the process ends.
 */
export const ANY_CHARACTER = fc
  .nat(0x10ffff)
  .filter((point) => String.fromCodePoint(point).isWellFormed())
  .map(
    (point) => String.fromCodePoint(point),
    (text) => String(text).codePointAt(0) ?? -1,
  );

// Every property and sample of fast-check starts from the seed; a property has 25 runs unless it says how many.
fc.configureGlobal({ seed: SEED, numRuns: rounds(25) });
if (process.env.TEST_SEED === undefined) process.stderr.write(`TEST_SEED=${SEED}\n`);

// As in the binary, the commit is known: asking git takes as long as many tests.
Object.assign(globalThis, { BUILD_COMMIT: BUILT_COMMIT });
