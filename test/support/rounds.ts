import fc from 'fast-check';
import { sourceCommit } from '../../shared/version.ts';

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
  // Mulberry32.
  let state = SEED ^ Bun.hash.crc32(name);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Any character, surrogates only in pairs. fast-check's unit `binary` is the same, but first lists all of them, which takes a
 * second, and memory until the process ends.
 */
export const ANY_CHARACTER = fc.nat(0x10ffff - 0x800).map(
  (at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800),
  (text) => {
    const code = typeof text === 'string' && text.isWellFormed() ? (text.codePointAt(0) as number) : -1;
    if (code < 0 || text !== String.fromCodePoint(code)) throw new Error('This is not one character.');
    return code < 0xd800 ? code : code - 0x800;
  },
);

// Every property and sample of fast-check starts from the seed; a property has 25 runs unless it says how many.
fc.configureGlobal({ seed: SEED, numRuns: rounds(25) });
if (process.env.TEST_SEED === undefined) process.stderr.write(`TEST_SEED=${SEED}\n`);

// As in the binary, the commit is known: git, which takes as long as many tests, is asked at most once in a process.
let commit: string | undefined;
Object.defineProperty(globalThis, 'BUILD_COMMIT', {
  get: () => {
    commit ??= sourceCommit();
    return commit;
  },
});
