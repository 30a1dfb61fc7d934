import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { PROJECT } from '../support/cli.ts';
import type { Bench } from './bench.ts';
import { plot } from './plot.ts';
import type { KeptResult, Result, Results } from './results.ts';

/** Adds results to `results.json` in a folder, in the place of those with the same names, and draws `results.svg` anew. */
export function keepResults(folder: string, fresh: readonly Result[], bench: Bench): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'results.json');
  const before: KeptResult[] = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Results).results : [];
  const { profiles, rounds } = bench;
  const made = { profiles, rounds, commit: commit(), date: new Date().toISOString().slice(0, 10) };
  const kept = fresh.map((result) => ({ ...result, ...made }));
  const isOld = ({ name }: KeptResult) => kept.some((one) => one.name === name);
  const results: Results = {
    machine: { cores: cpus().length, cpu: cpus()[0]?.model ?? '', bun: Bun.version, kernel: release() },
    results: [...before.filter((one) => !isOld(one)), ...kept],
  };
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(folder, 'results.svg'), plot(results));
}

function commit(): string {
  const described = Bun.spawnSync(['git', 'describe', '--always', '--dirty'], { cwd: PROJECT });
  return described.stdout.toString().trim();
}
