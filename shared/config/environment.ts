import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { isBinary } from '../binary.ts';
import { AppError } from '../errors.ts';
import { userName } from '../user.ts';
import { readSmallText } from './small-file.ts';

/** The variables of an environment and their values. */
export type Source = Record<string, string | undefined>;

/** A file that sets variables. */
export type EnvironmentFile = { path: string; values: Source };

/** The sources of a process's variables. */
export type Environment = {
  /** The values in force. */
  source: Source;
  /** The variables that the process started with, including those from the files that Bun has read. */
  inherited: Source;
  /** The file named by `--env-file`, or null. */
  given: EnvironmentFile | null;
  /** The files that Bun has read, the one with precedence first. */
  dotFiles: EnvironmentFile[];
};

/** The file that Bun reads variables from in the current folder. */
export const DOT_ENV = '.env';

/**
 * The process's environment, completed by a file if one is given; the environment takes precedence, as with Node's
 * `--env-file`. Throws `bad_config` if the file can't be read.
 */
export function readEnvironment(envFile: string | undefined): Environment {
  const inherited: Source = { ...process.env };
  const dotFiles = readDotFiles(inherited);
  if (envFile === undefined) return { source: inherited, inherited, given: null, dotFiles };
  const given = { path: envFile, values: parseEnv(readTextFile('--env-file', envFile)) };
  return { source: { ...given.values, ...inherited }, inherited, given, dotFiles };
}

/** Where a process has its variables from: the operating system's user, and the files. */
export type EnvironmentOrigin = { user: string; files: string[] };

/**
 * Describes where this process got its variables from; `envFile` is the value of `--env-file`. Throws `bad_config` if
 * that file can't be read.
 */
export function describeEnvironment(envFile: string | undefined): EnvironmentOrigin {
  const { given, dotFiles } = readEnvironment(envFile);
  const files = [...dotFiles, ...(given === null ? [] : [given])].map(({ path }) => resolve(path));
  return { user: userName(), files };
}

/** Whether `LOG_LEVEL` is the most verbose, before the rest of the configuration is read. Never throws. */
export function isDebugging(): boolean {
  return process.env.LOG_LEVEL === 'debug';
}

/** The text editor's command, `VISUAL` before `EDITOR`, or null if neither is set. */
export function editorCommand(): string | null {
  return process.env.VISUAL || process.env.EDITOR || null;
}

/** Whether the person at the terminal has a browser on this machine, judging by the environment. */
export function describeDesktop() {
  const { BROWSER, SSH_CONNECTION, SSH_TTY, DISPLAY, WAYLAND_DISPLAY } = process.env;
  return {
    /** The command that opens a URL; null if it is not set. */
    browser: BROWSER || null,
    /** Whether the person is on another machine, so that a browser here is of no use. */
    isRemote: Boolean(SSH_CONNECTION || SSH_TTY),
    /** Whether windows can be opened. */
    hasDisplay: process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY),
  };
}

/** Whether the terminal can't move its cursor, so that prompts must be plain lines. */
export function isDumbTerminal(): boolean {
  return process.env.TERM === 'dumb';
}

/**
 * The folder for this user's settings of programs (XDG Base Directory Specification): XDG_CONFIG_HOME if it is an
 * absolute path, otherwise `.config` in `home`. Throws `bad_config` for a path that is not UTF-8.
 */
export function settingsFolder(home: string): string {
  const { XDG_CONFIG_HOME: named = '' } = process.env;
  const [name, folder] = isAbsolute(named) ? ['XDG_CONFIG_HOME', named] : ['HOME', join(home, '.config')];
  if (isMangled(folder)) throw new AppError('bad_config', mangledText(name));
  return folder;
}

/** Whether a text contained bytes that are not UTF-8: the runtime replaces them by U+FFFD, which names another file. */
export function isMangled(value: string): boolean {
  return value.includes('\uFFFD');
}

/** The sentence for a variable whose value {@link isMangled}. */
export function mangledText(name: string): string {
  return `${name} must be a text in UTF-8, without U+FFFD.`;
}

/** The text of a file that a variable or flag names, at most 1 MiB. Throws `bad_config`. */
export function readTextFile(name: string, path: string): string {
  return readSmallText({ name, path, maxKib: 1_024, code: 'bad_config' });
}

/** Whether Bun reads {@link DOT_ENV}: it does when the source is run; the binary is built without that. */
export function isDotEnvRead(): boolean {
  return !isBinary() && !process.execArgv.includes('--no-env-file');
}

/** The files that Bun has read into the environment before we could look. */
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
