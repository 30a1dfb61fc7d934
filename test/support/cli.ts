import { join } from 'node:path';
import { noteOutput } from './secret-search.ts';

/** The project's folder. */
export const PROJECT = join(import.meta.dir, '../..');

/** The binary that test/run.ts has built for a run; else commands start from the source. */
const BINARY = process.env.TEST_BINARY;

/** What a process left behind. */
export type Finished = { code: number; stdout: string; stderr: string };

/** An environment without anybody's settings: only what a shell needs to find programs, and what is given. */
export function cleanEnvironment(variables: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  // The person who runs the tests may be logged in to a server.
  return { PATH, HOME, XDG_CONFIG_HOME: join(PROJECT, 'node_modules/.no-settings'), NO_COLOR: '1', ...variables };
}

/** The words of a `profilectl` process, whatever the current folder: the binary of the test run, or from source. */
export function profilectlWords(words: readonly string[]): string[] {
  return BINARY === undefined ? [...fromSource('--no-env-file'), ...words] : [BINARY, ...words];
}

/**
 * The words that start `profilectl` from source, with these options of Bun, as people do who try it or work on it. Three
 * files need it, and test/conventions.test.ts has their names: all others go by {@link profilectlWords}.
 */
export function fromSource(...options: string[]): string[] {
  return [process.execPath, ...options, join(PROJECT, 'cli/main.ts')];
}

/**
 * Runs `profilectl` to its end, with no terminal; `stdin` is its input, and `program` starts another version (`nextVersion`).
 */
export async function profilectl(
  words: readonly string[],
  options: { variables?: Record<string, string>; stdin?: string | Uint8Array; cwd?: string; program?: string[] } = {},
): Promise<Finished> {
  const { program } = options;
  const child = Bun.spawn(program === undefined ? profilectlWords(words) : [...program, ...words], {
    env: cleanEnvironment(options.variables),
    cwd: options.cwd ?? PROJECT,
    stdin: options.stdin === undefined ? 'ignore' : new Blob([options.stdin as string]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  noteOutput(stdout + stderr);
  return { code, stdout, stderr };
}
