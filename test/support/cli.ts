import { join } from 'node:path';
import { noteOutput } from './secret-search.ts';

/** The project's folder. */
export const PROJECT = join(import.meta.dir, '../..');

/** The binary that test/run.ts built for its run; undefined if commands start from source. */
export const BINARY = process.env.TEST_BINARY;

/** The commit that the binaries of tests are built with. */
export const BUILT_COMMIT = 'abc1234';

/** The result of a process. */
export type Finished = { code: number; stdout: string; stderr: string };

/** An environment without personal settings: what a shell needs to find programs, and these variables. */
export function cleanEnvironment(variables: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, NO_COLOR: '1', ...variables };
}

/** Most commands end before it pays to compile their JavaScript: without that, they take a third less processor time. */
export const NO_JIT = { BUN_JSC_useJIT: '0' };

/** Servers of tests end soon, too. Compiling only code that has run for longer makes their starts a quarter cheaper. */
export const LATE_JIT = { BUN_JSC_thresholdForJITAfterWarmUp: '5000', BUN_JSC_thresholdForJITSoon: '1000' };

/** The environment of a `profilectl` that is no server: {@link cleanEnvironment}, without compiling. */
export function commandEnvironment(variables: Record<string, string> = {}): Record<string, string> {
  return cleanEnvironment({ ...NO_JIT, ...variables });
}

/** The command that runs `profilectl` from any folder: the binary of the test run, or from source. */
export function profilectlWords(words: readonly string[]): string[] {
  return BINARY === undefined ? [...fromSource('--no-env-file'), ...words] : [BINARY, ...words];
}

/**
 * The command that runs `profilectl` from source with these options of Bun. Most tests use {@link profilectlWords}.
 */
export function fromSource(...options: string[]): string[] {
  return [process.execPath, ...options, join(PROJECT, 'cli/main.ts')];
}

/** What a command gets beside its words. */
export type CommandOptions = { variables?: Record<string, string>; stdin?: string | Uint8Array };

/** Runs `profilectl` to its end without a terminal. `program` starts another version (`nextVersion`). */
export async function profilectl(
  words: readonly string[],
  options: CommandOptions & { cwd?: string; program?: string[] } = {},
): Promise<Finished> {
  const { program } = options;
  const child = Bun.spawn(program === undefined ? profilectlWords(words) : [...program, ...words], {
    env: commandEnvironment(options.variables),
    cwd: options.cwd ?? PROJECT,
    stdin: options.stdin === undefined ? 'ignore' : new Blob([options.stdin as string]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  noteOutput(stdout + stderr);
  return { code, stdout, stderr };
}
