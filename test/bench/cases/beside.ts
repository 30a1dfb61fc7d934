import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { profilectlWords } from '../../support/cli.ts';
import { type Bench, CORE, spawn } from '../bench.ts';
import { copyOf, generate, writeLines } from '../database.ts';
import { type Load, traffic, typicalAnswer } from '../load.ts';
import { alternate, checksOf, figuresOf, loading, ratiosOf, type Turn } from '../measure.ts';
import { changingLookup, hotIds } from '../questions.ts';
import type { Result } from '../results.ts';
import { startBare, startOurs } from '../servers.ts';

const VERSIONS = [1, 2];
const CHANGED = 100_000;
// A client that does not spin leaves the import a share of its core.
const spins = false;

/**
 * Lookups while an import repeatedly changes a hundred thousand profiles, including those looked up. The import may
 * use both cores, so it slows down a bare server too, which the figures show.
 */
export async function besideImport(bench: Bench): Promise<Result[]> {
  const database = copyOf(bench, await generate(bench));
  const files = await changes(bench);
  const asked = traffic(
    bench,
    hotIds(bench.profiles).map((id) => changingLookup(id, VERSIONS.length)),
  );
  const ours = await startOurs(bench, database);
  const bare = await startBare(bench, await typicalAnswer(ours, asked.questions));
  const loads = await alternate(bench, {
    bare: loading(bench, bare, asked, { isOurs: false, spins }),
    bareBeside: importing(bench, database, files, loading(bench, bare, asked, { isOurs: false, spins })),
    ours: loading(bench, ours, asked, { isOurs: true, spins }),
    oursBeside: importing(bench, database, files, loading(bench, ours, asked, { isOurs: true, spins })),
  });
  await Promise.all([ours.stop(), bare.stop()]);
  rmSync(database, { force: true });
  const perSecond = (taken: readonly Load[]) => taken.map((one) => one.perSecond);
  const about = { figures: figuresOf(loads, false), ...checksOf(loads.ours, loads.oursBeside) };
  return [
    {
      name: 'import-beside',
      what: 'lookups while an import writes ÷ without it',
      goal: { min: 0.7 },
      ratios: ratiosOf(perSecond(loads.oursBeside), perSecond(loads.ours)),
      ...about,
    },
  ];
}

/** One file for each version, which changes the same number of profiles to it, including the hot ones. */
async function changes(bench: Bench): Promise<string[]> {
  const count = Math.min(bench.profiles, CHANGED);
  const ids = Array.from({ length: count }, (_, at) => 1 + Math.floor((at * bench.profiles) / count));
  const files = VERSIONS.map((version) => join(bench.folder, `version-${version}.jsonl`));
  for (const [at, file] of files.entries()) await writeLines(file, ids, VERSIONS[at] as number);
  return files;
}

/** A turn during which imports run one after another. */
function importing(bench: Bench, database: string, files: readonly string[], beside: Turn<Load>): Turn<Load> {
  return async (turn) => {
    let isDone = false;
    let child: Bun.Subprocess | null = null;
    const imports = async () => {
      for (let at = 0; !isDone; at++) {
        const words = ['profiles', 'import', files[at % files.length] as string, '--db', database];
        child = spawn(bench, profilectlWords(words), { core: CORE.any });
        const code = await child.exited;
        if (!isDone && code !== 0) throw new Error(`the import during the load ended with ${code}`);
      }
    };
    const loaded = beside(turn).finally(() => {
      isDone = true;
      child?.kill('SIGTERM');
    });
    await Promise.all([loaded, imports()]);
    return loaded;
  };
}
