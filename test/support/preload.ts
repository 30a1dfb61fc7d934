import fc from 'fast-check';
import { sourceCommit } from '../../shared/version.ts';
import { rounds, SEED } from './rounds.ts';

// bunfig.toml loads this before the first test file of each process.

process.env.TZ = 'UTC';

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
