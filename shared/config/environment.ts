import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { isBinary } from '../binary.ts';
import { userName } from '../user.ts';
import { readSmallText } from './small-file.ts';

/** The values of variables by name. */
export type Source = Record<string, string | undefined>;

/** A file that sets variables. */
export type EnvironmentFile = { path: string; values: Source };

/** The variables of a process, with their origins. */
export type Environment = {
  /** The effective values. */
  source: Source;
  /** The values with which the process started, including those from files that Bun has read. */
  inherited: Source;
  /** The file named by `--env-file`. */
  given: EnvironmentFile | null;
  /** The files that Bun has read, in the order of precedence. */
  dotFiles: EnvironmentFile[];
};

/** The file in the current folder from which Bun reads variables. */
export const DOT_ENV = '.env';

/**
 * Reads the environment and the file, if one is given; the environment takes precedence, as with Node's `--env-file`. Throws
 * `bad_config` if the file can't be read.
 */
export function readEnvironment(envFile: string | undefined): Environment {
  const inherited: Source = { ...process.env };
  const dotFiles = readDotFiles(inherited);
  if (envFile === undefined) return { source: inherited, inherited, given: null, dotFiles };
  const given = { path: envFile, values: parseEnv(readTextFile('--env-file', envFile)) };
  return { source: { ...given.values, ...inherited }, inherited, given, dotFiles };
}

/** The origin of a process's variables: the operating system's user, and files. */
export type EnvironmentOrigin = { user: string; files: string[] };

/** Describes the origin of this process's variables. Throws `bad_config` if the file can't be read. */
export function describeEnvironment(envFile: string | undefined): EnvironmentOrigin {
  const { given, dotFiles } = readEnvironment(envFile);
  const files = [...dotFiles, ...(given === null ? [] : [given])].map(({ path }) => resolve(path));
  return { user: userName(), files };
}

/** Whether `LOG_LEVEL` is `debug`; works before the configuration is read. Never throws. */
export function isDebugging(): boolean {
  return process.env.LOG_LEVEL === 'debug';
}

/** Whether a text editor is named. */
export function hasEditor(): boolean {
  return Boolean(process.env.VISUAL || process.env.EDITOR);
}

/** Whether a value contained bytes that are not UTF-8: the runtime replaces them with U+FFFD, which would name another file. */
export function isMangled(value: string): boolean {
  return value.includes('\uFFFD');
}

/** The error sentence for a variable whose value {@link isMangled}. */
export function mangledText(name: string): string {
  return `${name} must be valid UTF-8, without U+FFFD.`;
}

/** Reads a file named by a variable or flag, at most 1 MiB. Throws `bad_config`. */
export function readTextFile(name: string, path: string): string {
  return readSmallText({ name, path, maxKib: 1_024, code: 'bad_config' });
}

/** Whether Bun reads {@link DOT_ENV}: only when the program runs from source. */
export function isDotEnvRead(): boolean {
  return !isBinary() && !process.execArgv.includes('--no-env-file');
}

// Bun has already read these files into the environment.
function readDotFiles(environment: Source): EnvironmentFile[] {
  if (!isDotEnvRead()) return [];
  return ['.env.local', `.env.${environment.NODE_ENV || 'development'}`, DOT_ENV].flatMap((path) => {
    try {
      return [{ path, values: parseEnv(readFileSync(path, 'utf8')) }];
    } catch {
      return [];
    }
  });
}
