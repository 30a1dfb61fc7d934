import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnvironment, PROJECT } from '../support/cli.ts';

/** The options of the command line. */
export type Options = {
  rounds: number;
  profiles: number;
  /** The length of a round under load, in seconds. */
  seconds: number;
  /** The folder that keeps generated databases for the next run, or null. */
  keep: string | null;
};

/** A run of the benchmark: its options, and what has to be removed at its end. */
export type Bench = Options & {
  /** For files that last only for the run. */
  folder: string;
  /** For generated profiles; `folder` unless they are kept. */
  dataFolder: string;
  children: Set<Bun.Subprocess>;
};

/** A case that can't be measured here, which is not an error. */
export class Skipped extends Error {}

/** The server under load has its own core; the load generator and the checks have another. */
export const CORE = { server: '0', client: '1', any: '0,1' } as const;

/** The core that a process is bound to. */
export type Core = (typeof CORE)[keyof typeof CORE];

/** The sentence that says what this machine lacks for the benchmark and what to do, or null. */
export function whatIsMissing(): string | null {
  if (navigator.hardwareConcurrency < 2) return 'The bench needs two cores: one for the server, one for the client.';
  if (Bun.which('taskset') === null) return 'The bench needs taskset: apt-get install util-linux';
  if (Bun.which('wrk') === null) return 'The bench needs wrk: apt-get install wrk';
  return null;
}

/** Binds this process, and those that it starts afterwards, to a core. */
export function moveTo(core: Core): void {
  spawnSync('taskset', ['-a', '-cp', core, String(process.pid)]);
}

/** Starts a run: this process moves to the client's core. */
export function openBench(options: Options): Bench {
  moveTo(CORE.client);
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-bench-'));
  if (options.keep !== null) mkdirSync(options.keep, { recursive: true, mode: 0o700 });
  return { ...options, folder, dataFolder: options.keep ?? folder, children: new Set() };
}

/** Ends processes that a failed case has left running. */
export async function endChildren({ children }: Bench): Promise<void> {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all([...children].map((child) => child.exited));
}

/** Ends running processes and deletes everything that is not kept. */
export function closeBench(bench: Bench): void {
  void endChildren(bench);
  rmSync(bench.folder, { recursive: true, force: true });
}

/** How a process of the benchmark is started; `output` and `input` are files. */
export type SpawnOptions = { core: Core; variables?: Record<string, string>; output?: string; input?: string };

/** Starts a process on a core; the end of the run kills it. Without `output` its output is dropped. */
export function spawn(bench: Bench, words: readonly string[], options: SpawnOptions): Bun.Subprocess {
  const output = openSync(options.output ?? '/dev/null', 'a');
  const child = Bun.spawn(['taskset', '-c', options.core, ...words], {
    cwd: PROJECT,
    env: cleanEnvironment(options.variables),
    stdio: [options.input === undefined ? 'ignore' : Bun.file(options.input), output, output],
  });
  closeSync(output);
  bench.children.add(child);
  void child.exited.then(() => bench.children.delete(child));
  return child;
}

/** Runs a process to its end. Throws its output if it fails. */
export async function run(bench: Bench, words: readonly string[], options: SpawnOptions): Promise<void> {
  const output = options.output ?? join(bench.folder, 'output.txt');
  if (options.output === undefined) rmSync(output, { force: true });
  const code = await spawn(bench, words, { ...options, output }).exited;
  if (code === 0) return;
  throw new Error(`${words.join(' ')} ended with ${code}: ${(await Bun.file(output).text()).slice(-500)}`);
}
