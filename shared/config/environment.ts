import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { isBinary } from '../binary.ts';
import { AppError } from '../errors.ts';
import { userName } from '../user.ts';
import { readSmallText } from './small-file.ts';

/** Variables and their values, as an environment has them. */
export type Source = Record<string, string | undefined>;

/** A file that sets variables. */
export type EnvironmentFile = { path: string; values: Source };

/** Where a process has its variables from. */
export type Environment = {
  /** What is in force. */
  source: Source;
  /** What the process was started with, together with the files that Bun has read. */
  inherited: Source;
  /** What `--env-file` names, or null. */
  given: EnvironmentFile | null;
  /** The files that Bun has read, the one that wins first. */
  dotFiles: EnvironmentFile[];
};

/** The file of variables that Bun reads in the current folder. */
export const DOT_ENV = '.env';

/**
 * The process's environment, completed by a file where one is given; the environment wins, as with Node's `--env-file`.
 * Throws `bad_config` when the file can't be read.
 */
export function readEnvironment(envFile: string | undefined): Environment {
  const inherited: Source = { ...process.env };
  const dotFiles = readDotFiles(inherited);
  if (envFile === undefined) return { source: inherited, inherited, given: null, dotFiles };
  const given = { path: envFile, values: parseEnv(readTextFile('--env-file', envFile)) };
  return { source: { ...given.values, ...inherited }, inherited, given, dotFiles };
}

/** Whose variables a process reads: the operating system's user, and the files beside the environment. */
export type EnvironmentOrigin = { user: string; files: string[] };

/** Whose variables this process reads, with the value of `--env-file`. Throws `bad_config` when that can't be read. */
export function describeEnvironment(envFile: string | undefined): EnvironmentOrigin {
  const { given, dotFiles } = readEnvironment(envFile);
  const files = [...dotFiles, ...(given === null ? [] : [given])].map(({ path }) => resolve(path));
  return { user: userName(), files };
}

/** Whether `LOG_LEVEL` asks for everything, before anything else is known of the configuration. Never throws. */
export function isDebugging(): boolean {
  return process.env.LOG_LEVEL === 'debug';
}

/** The command that edits texts, `VISUAL` before `EDITOR`, or null where neither is set. */
export function editorCommand(): string | null {
  return process.env.VISUAL || process.env.EDITOR || null;
}

/** What tells whether this machine has a browser for the person at the terminal. */
export type Desktop = {
  /** The command that opens an address (BROWSER); null where it is not set. */
  browser: string | null;
  /** Whether the person is at another machine, so that a browser here is of no use. */
  isRemote: boolean;
  /** Whether windows can be opened, as far as variables tell it. */
  hasDisplay: boolean;
};

/** Where the person at the terminal is, as far as variables tell it. */
export function describeDesktop(): Desktop {
  const { BROWSER, SSH_CONNECTION, SSH_TTY, DISPLAY, WAYLAND_DISPLAY } = process.env;
  return {
    browser: BROWSER || null,
    isRemote: Boolean(SSH_CONNECTION || SSH_TTY),
    hasDisplay: process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY),
  };
}

/** Whether the terminal can't move its cursor, so that prompts must be plain lines. */
export function isDumbTerminal(): boolean {
  return process.env.TERM === 'dumb';
}

/**
 * The folder with the settings of this user's programs (XDG Base Directory Specification): XDG_CONFIG_HOME where it is an
 * absolute path, otherwise `.config` in `home`. Throws `bad_config` for a path that is no UTF-8.
 */
export function settingsFolder(home: string): string {
  const { XDG_CONFIG_HOME: named = '' } = process.env;
  const [name, folder] = isAbsolute(named) ? ['XDG_CONFIG_HOME', named] : ['HOME', join(home, '.config')];
  if (isMangled(folder)) throw new AppError('bad_config', mangledText(name));
  return folder;
}

/** Whether a text had bytes that are no UTF-8: the runtime puts U+FFFD in their place, which names another file. */
export function isMangled(value: string): boolean {
  return value.includes('\uFFFD');
}

/** The sentence for a variable whose value {@link isMangled}. */
export function mangledText(name: string): string {
  return `${name} must be a text in UTF-8, without U+FFFD.`;
}

/** The text of a file that a variable or flag names, of 1 MiB at most. Throws `bad_config`. */
export function readTextFile(name: string, path: string): string {
  return readSmallText({ name, path, maxKib: 1_024, code: 'bad_config' });
}

/** Whether Bun reads {@link DOT_ENV}: where the source is run; the binary is made without that. */
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
