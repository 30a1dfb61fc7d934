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

/**
 * The environment of a `profilectl` that is no server: {@link cleanEnvironment}, without compiling JavaScript. Most commands end
 * before that pays: without it they take a third less processor time.
 */
export function commandEnvironment(variables: Record<string, string> = {}): Record<string, string> {
  return cleanEnvironment({ BUN_JSC_useJIT: '0', ...variables });
}

/** The command that runs `profilectl` from source, from any folder. Most tests use {@link profilectlWords}. */
export const FROM_SOURCE = [process.execPath, '--no-env-file', join(PROJECT, 'cli/main.ts')] as const;

/** The command that runs `profilectl` from any folder: the binary of the test run, or from source. */
export function profilectlWords(words: readonly string[]): string[] {
  return [...(BINARY === undefined ? FROM_SOURCE : [BINARY]), ...words];
}

/** What a command gets beside its words. */
export type CommandOptions = { variables?: Record<string, string>; stdin?: string | Uint8Array };

/** Runs `profilectl`, or another `program`, to its end without a terminal. */
export async function profilectl(
  words: readonly string[],
  { variables, stdin, cwd = PROJECT, program }: CommandOptions & { cwd?: string; program?: string[] } = {},
): Promise<Finished> {
  const child = Bun.spawn(program === undefined ? profilectlWords(words) : [...program, ...words], {
    env: commandEnvironment(variables),
    cwd,
    stdin: stdin === undefined ? 'ignore' : new Blob([stdin as string]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  noteOutput(stdout + stderr);
  return { code, stdout, stderr };
}
