import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { profilectlWords } from '../../support/cli.ts';
import { peakBytesOf } from '../../support/machine/memory.ts';
import { type Bench, CORE, run, spawn } from '../bench.ts';
import { generate, generateLines } from '../database.ts';
import { alternate, ratiosOf } from '../measure.ts';
import { brief, countText, median, type Result } from '../results.ts';

// Whole files, imported and exported. Each turn is its own process, on all cores.

const UNCHECKED = { samples: 0, faults: [] };

/** Imports into a new database: how long it takes in milliseconds, and its peak memory in bytes. */
async function importOnce(bench: Bench, lines: string): Promise<{ ms: number; peakBytes: number }> {
  const path = join(bench.folder, 'imported.db');
  const started = performance.now();
  const child = spawn(bench, profilectlWords(['profiles', 'import', lines, '--db', path]), { core: CORE.any });
  const peakBytes = await peakBytesOf(child);
  if (child.exitCode !== 0) throw new Error(`the import ended with ${child.exitCode}`);
  const ms = performance.now() - started;
  removeDatabase(path);
  return { ms, peakBytes };
}

/** Runs one of the bare scripts, which prints its time in milliseconds. */
async function bareOnce(bench: Bench, script: string, words: readonly string[]): Promise<number> {
  const output = join(bench.folder, 'milliseconds.txt');
  rmSync(output, { force: true });
  await run(bench, [process.execPath, join(import.meta.dir, script), ...words], { core: CORE.any, output });
  return Number(readFileSync(output, 'utf8'));
}

/** Deletes a database that a command has made. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/** The import of all profiles, compared with bare inserts, and how its memory grows with the file. */
export async function importing(bench: Bench): Promise<Result[]> {
  const lines = await generateLines(bench, bench.profiles);
  const fewer = await generateLines(bench, Math.ceil(bench.profiles / 10));
  const inserted = join(bench.folder, 'inserted.db');
  const peaks: number[] = [];
  const times = await alternate(
    bench,
    {
      bare: async () => {
        const ms = await bareOnce(bench, '../bare/bare-inserts.ts', [inserted, lines]);
        removeDatabase(inserted);
        return ms;
      },
      ours: async () => {
        const { ms, peakBytes } = await importOnce(bench, lines);
        peaks.push(peakBytes);
        return ms;
      },
    },
    { warmsUp: false },
  );
  const small: number[] = [];
  for (let round = 0; round < bench.rounds; round++) small.push((await importOnce(bench, fewer)).peakBytes);
  const megabytes = (bytes: readonly number[]) => brief(median(bytes) / 2 ** 20);
  return [
    {
      name: 'import',
      what: `import of ${countText(bench.profiles)} profiles, speed ÷ bare inserts`,
      goal: { min: 0.6 },
      ratios: ratiosOf(times.bare, times.ours),
      figures: { 'bare ms': brief(median(times.bare)), 'ours ms': brief(median(times.ours)) },
      ...UNCHECKED,
    },
    {
      name: 'import-memory',
      what: `peak memory of that import ÷ of a tenth of it`,
      goal: { max: 1.2 },
      ratios: ratiosOf(peaks, small),
      figures: { 'all MiB': megabytes(peaks), 'tenth MiB': megabytes(small) },
      ...UNCHECKED,
    },
  ];
}

/** The export of all profiles, compared with parsing its output. */
export async function exporting(bench: Bench): Promise<Result[]> {
  const { path, lines } = await generate(bench);
  const file = join(bench.folder, 'exported.jsonl');
  const faults: string[] = [];
  const times = await alternate(
    bench,
    {
      ours: async () => {
        rmSync(file, { force: true });
        const started = performance.now();
        const words = profilectlWords(['profiles', 'export', '--db', path]);
        await run(bench, words, { core: CORE.any, output: file });
        const ms = performance.now() - started;
        if (await isDifferent(file, lines)) faults.push('the export differs from what was imported');
        return ms;
      },
      bare: () => bareOnce(bench, '../bare/bare-parse.ts', [file]),
    },
    { warmsUp: false },
  );
  return [
    {
      name: 'export',
      what: `export of ${countText(bench.profiles)} profiles, speed ÷ JSON.parse of each line`,
      goal: { min: 0.5 },
      ratios: ratiosOf(times.bare, times.ours),
      figures: { 'bare ms': brief(median(times.bare)), 'ours ms': brief(median(times.ours)) },
      samples: bench.rounds * bench.profiles,
      faults,
    },
  ];
}

async function isDifferent(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map(digest));
  return a !== b;
}

async function digest(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return hasher.digest('hex');
}
