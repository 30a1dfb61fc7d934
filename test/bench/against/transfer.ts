import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, CORE, run } from '../bench.ts';
import { removeDatabase } from '../cases/transfer.ts';
import { generateLines } from '../database.ts';
import { alternate } from '../measure.ts';
import { type Pair, printRatio, type Side } from './servers.ts';

/** Milliseconds by command. */
type Times = Record<'import' | 'export' | 'erase' | 'vacuum', number>;

/**
 * Time of commands that process all profiles: importing them into a new database, exporting them, an import that
 * erases every other one, and the VACUUM after it. In milliseconds, on all cores.
 */
export async function transferAgainst(bench: Bench, sides: Pair<Side>): Promise<void> {
  const lines = await generateLines(bench, bench.profiles);
  const deletions = join(bench.folder, 'deletions.jsonl');
  const ids = Array.from({ length: Math.floor(bench.profiles / 2) }, (_, at) => 2 * (at + 1));
  writeFileSync(deletions, ids.map((id) => `{"id":${id},"deleted":true}\n`).join(''));
  const measure =
    ({ name, binary }: Side) =>
    async (): Promise<Times> => {
      const path = join(bench.folder, `${name}-transfer.db`);
      const timed = async (...words: string[]) => {
        const started = performance.now();
        await run(bench, [binary, ...words, '--db', path], { core: CORE.any, output: '/dev/null' });
        return performance.now() - started;
      };
      const times = {
        import: await timed('profiles', 'import', lines),
        export: await timed('profiles', 'export'),
        erase: await timed('profiles', 'import', deletions),
        vacuum: await timed('db', 'vacuum'),
      };
      removeDatabase(path);
      return times;
    };
  const turns = { mine: measure(sides.mine), theirs: measure(sides.theirs) };
  const { mine, theirs } = await alternate(bench, turns, { warmsUp: false });
  for (const what of Object.keys(mine[0] ?? {}) as (keyof Times)[]) {
    const [over, under] = [mine, theirs].map((times) => times.map((one) => one[what])) as [number[], number[]];
    printRatio(what, over, under, 'ms');
  }
}
