import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join, resolve } from 'node:path';
import { PROJECT } from '../support/cli.ts';
import type { Bench } from './bench.ts';
import { type KeptResult, markdownTable, type Result, type Results } from './results.ts';

/**
 * Adds results to `results.json` in a folder, replacing those with the same names, in the order of the cases. If the
 * folder is this one, also renews the table in docs/speed.md.
 */
export function keepResults(folder: string, bench: Bench, cases: readonly string[], fresh: readonly Result[]): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'results.json');
  const before: KeptResult[] = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Results).results : [];
  const { profiles, rounds } = bench;
  const machine = { cores: cpus().length, cpu: cpus()[0]?.model ?? '', bun: Bun.version, kernel: release() };
  const made = { profiles, rounds, commit: commit(), date: new Date().toISOString().slice(0, 10), machine };
  const kept = fresh.map((result) => ({ ...result, ...made }));
  const byName = new Map([...before, ...kept].map((result) => [result.name, result]));
  // A result is named after its case, with a suffix if the case has two.
  const positionOf = ({ name }: Result) => cases.indexOf(cases.includes(name) ? name : name.replace(/-\w+$/, ''));
  const results: Results = { results: [...byName.values()].sort((a, b) => positionOf(a) - positionOf(b)) };
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
  if (resolve(folder) === import.meta.dir) showInDocument(results);
}

const DOCUMENT = 'docs/speed.md';

function showInDocument({ results }: Results): void {
  const path = join(PROJECT, DOCUMENT);
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text.replace(/^\| Case \|.*\n(\|.*\n)*/m, () => markdownTable(results)),
  );
}

/** The measured commit, marked if anything except the results has changed since. */
function commit(): string {
  const git = (...words: string[]) => Bun.spawnSync(['git', ...words], { cwd: PROJECT });
  const others = ['.', `:(exclude)${DOCUMENT}`, ':(exclude)test/bench/results.json'];
  const isChanged = git('diff', '--quiet', 'HEAD', '--', ...others).exitCode !== 0;
  return git('rev-parse', '--short', 'HEAD').stdout.toString().trim() + (isChanged ? '-changed' : '');
}
