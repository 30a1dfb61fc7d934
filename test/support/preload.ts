import fc from 'fast-check';
import { sourceCommit } from '../../shared/version.ts';
import { rounds, SEED } from './rounds.ts';

// bunfig.toml loads this before the first test file of each process. Every property and sample of fast-check then
// starts from the seed. Properties without a number of runs have a quarter of the usual hundred, or all in `bun run
// test:long`.

fc.configureGlobal({ seed: SEED, numRuns: rounds(100) });
if (process.env.TEST_SEED === undefined) process.stderr.write(`TEST_SEED=${SEED}\n`);

// As in the binary, the commit is known: git, which takes as long as many tests, is asked at most once in a process.
let commit: string | undefined;
Object.defineProperty(globalThis, 'BUILD_COMMIT', {
  get: () => {
    commit ??= sourceCommit();
    return commit;
  },
});
