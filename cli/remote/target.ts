import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { DEFAULT_DATABASE_PATH } from '../../shared/config/database-path.ts';
import { readEnvironment, type Source } from '../../shared/config/environment.ts';
import { checkServerUrl, remoteHost, remoteToken } from '../../shared/config/remote.ts';
import { AppError } from '../../shared/errors.ts';
import { warnOfEnvironment } from '../configuration.ts';
import { type Globals, globalsOf } from '../context.ts';
import { pathOf } from './command-scope.ts';
import { readLogins } from './stored-logins.ts';

/** A server, by its URL as `checkServerUrl` returns it, and the token for it. */
export type Host = { url: string; token: string };

/** Where a command works: on the local database (`box`) or on a server. */
export type Target = { kind: 'box' } | { kind: 'host'; host: Host };

/** A target without its token; or, if the target is unclear, a sentence that says why. */
type Choice = { kind: 'box' } | { kind: 'host'; url: string } | { kind: 'unclear'; sentence: string };

/**
 * The target of a command that works on the local database or remotely: the one named by `--db` or `--host`, otherwise the
 * only one that exists: a database (DATABASE_PATH, or a file at its default path) or a server (PROFILECTL_HOST, or a stored
 * login). Throws `usage` unless there is exactly one, `not_logged_in` without a token for the server, and the errors of
 * `readLogins`.
 */
export async function targetOf(command: Command): Promise<Target> {
  return targetFor(globalsOf(command), pathOf(command));
}

/** Like {@link targetOf}, from the options of a command and its path, such as `keys list`. */
export async function targetFor(
  { db, host, envFile }: Pick<Globals, 'db' | 'host' | 'envFile'>,
  path: string,
): Promise<Target> {
  if (db !== undefined && host !== undefined) {
    throw new AppError('usage', `--db ${db} and --host ${host} are mutually exclusive; leave one out.`);
  }
  if (db !== undefined) return { kind: 'box' };
  const environment = readEnvironment(envFile);
  const { source } = environment;
  const choice = host === undefined ? choose(path, source) : hostAt(checkServerUrl('--host', host));
  // For a local database, reading the configuration prints the warnings.
  if (choice.kind === 'box') return choice;
  warnOfEnvironment(environment);
  if (choice.kind === 'unclear') throw new AppError('usage', choice.sentence);
  return { kind: 'host', host: { url: choice.url, token: tokenFor(choice.url, source) } };
}

/**
 * The token for a server: PROFILECTL_TOKEN, otherwise that of the stored login. Throws `not_logged_in` without either.
 */
export function tokenFor(url: string, source: Source): string {
  const token = remoteToken(source) ?? readLogins().get(url)?.token;
  if (token !== undefined) return token;
  throw new AppError('not_logged_in', `You are not logged in to ${url}; run "profilectl login ${url}".`);
}

/**
 * The server of a command about logins, named by its argument, `--host` or PROFILECTL_HOST; null without any. Throws `usage`
 * if both the argument and `--host` are given.
 */
export function serverNamed(command: Command, argument: string | undefined, source: Source): string | null {
  const { host } = globalsOf(command);
  if (argument !== undefined && host !== undefined) {
    throw new AppError('usage', `${argument} and --host ${host} are mutually exclusive; leave one out.`);
  }
  if (argument !== undefined) return checkServerUrl('The URL', argument);
  return host === undefined ? remoteHost(source) : checkServerUrl('--host', host);
}

/**
 * The only server with a stored login. `token` is that of PROFILECTL_TOKEN. Throws `usage` if there are several servers, or a
 * token but no server, and `not_logged_in` without either.
 */
export function onlyLogin(token: string | null = null): string {
  const [url, ...others] = readLogins().keys();
  if (url === undefined && token !== null) throw new AppError('usage', TOKEN_ALONE);
  if (url === undefined) {
    throw new AppError(
      'not_logged_in',
      'You are not logged in to any server; run "profilectl login" with the URL of one.',
    );
  }
  if (others.length > 0) throw new AppError('usage', severalText([url, ...others]));
  return url;
}

const TOKEN_ALONE = 'PROFILECTL_TOKEN is set, but no server is named; name one with --host or PROFILECTL_HOST.';

const BOX: Choice = { kind: 'box' };

function hostAt(url: string): Choice {
  return { kind: 'host', url };
}

/** The target if neither `--db` nor `--host` is given. `path` is the command's. */
function choose(path: string, source: Source): Choice {
  const database = databaseHere(source);
  const named = remoteHost(source);
  // An import may change every profile, so the server has to be named. Without a server it creates the database.
  const isImport = path === 'profiles import';
  if (isImport && named === null && database !== null) return BOX;
  const servers = named === null ? [...readLogins().keys()] : [named];
  if (database !== null) {
    return servers.length === 0 ? BOX : unclear(`This could mean ${database} or ${serversText(named, servers)}`);
  }
  if (isImport && named === null) {
    return servers.length === 0 ? BOX : unclear(`An import does not use ${serversText(named, servers)} by default`);
  }
  const [url, ...others] = servers;
  if (url === undefined) return { kind: 'unclear', sentence: remoteToken(source) === null ? NOWHERE : TOKEN_ALONE };
  return others.length === 0 ? hostAt(url) : { kind: 'unclear', sentence: severalText(servers) };
}

function unclear(what: string): Choice {
  return { kind: 'unclear', sentence: `${what}; choose one with --db <path> or --host <url>.` };
}

const NOWHERE = `There is no database at ${DEFAULT_DATABASE_PATH}, and you are not logged in to any server. Use --db or DATABASE_PATH to name a database, or "profilectl login https://…" to log in to a server.`;

/** The configured or existing local database, for a sentence; null if there is none. */
function databaseHere({ DATABASE_PATH: path }: Source): string | null {
  if (path) return `the database ${path} (DATABASE_PATH)`;
  return existsSync(DEFAULT_DATABASE_PATH) ? `the database ${DEFAULT_DATABASE_PATH}` : null;
}

function serversText(named: string | null, servers: readonly string[]): string {
  if (named !== null) return `the server ${named} (PROFILECTL_HOST)`;
  const noun = servers.length === 1 ? 'server' : 'servers';
  return `the ${noun} ${servers.join(', ')} (where you are logged in)`;
}

function severalText(servers: readonly string[]): string {
  return `You are logged in to several servers: ${servers.join(', ')}; name one with --host or PROFILECTL_HOST.`;
}
