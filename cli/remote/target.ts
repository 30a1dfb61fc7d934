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

/** A server, by its address as `checkServerUrl` returns it, and the token to send there. */
export type Host = { url: string; token: string };

/** Where a command does its work: with the database of this machine, or by asking a server. */
export type Target = { kind: 'box' } | { kind: 'host'; host: Host };

/** The target without the token, or why it is not known. */
type Choice = { kind: 'box' } | { kind: 'host'; url: string } | { kind: 'unclear'; sentence: string };

/**
 * The target of a command that works here and at servers. `--db` and `--host` say so; otherwise the variables and what is there: a
 * database (DATABASE_PATH, or a file at its default) or a server (PROFILECTL_HOST, or a stored login). Throws `usage` where
 * that is not exactly one, `not_logged_in` where there is no token for the server, and what `readLogins` throws.
 */
export async function targetOf(command: Command): Promise<Target> {
  return targetFor(globalsOf(command), pathOf(command));
}

/** The same for a command whose options are known, by its words such as `keys list`. */
export async function targetFor(
  { db, host, envFile }: Pick<Globals, 'db' | 'host' | 'envFile'>,
  path: string,
): Promise<Target> {
  if (db !== undefined && host !== undefined) {
    throw new AppError('usage', `--db ${db} and --host ${host} can't both be meant; leave one out.`);
  }
  if (db !== undefined) return { kind: 'box' };
  const environment = readEnvironment(envFile);
  const { source } = environment;
  const choice = host === undefined ? choose(path, source) : hostAt(checkServerUrl('--host', host));
  // On the box the warnings are given together with the rest of the configuration.
  if (choice.kind === 'box') return choice;
  warnOfEnvironment(environment);
  if (choice.kind === 'unclear') throw new AppError('usage', choice.sentence);
  return { kind: 'host', host: { url: choice.url, token: tokenFor(choice.url, source) } };
}

/**
 * The token for a server: the one in PROFILECTL_TOKEN, otherwise the one of the stored login. Throws `not_logged_in` where
 * there is neither.
 */
export function tokenFor(url: string, source: Source): string {
  const token = remoteToken(source) ?? readLogins().get(url)?.token;
  if (token !== undefined) return token;
  throw new AppError('not_logged_in', `You are not logged in at ${url}; run "profilectl login ${url}".`);
}

/**
 * The server that a command about logins means: by its argument, `--host` or PROFILECTL_HOST; null where none of them is
 * there. Throws `usage` where the first two are.
 */
export function serverNamed(command: Command, argument: string | undefined, source: Source): string | null {
  const { host } = globalsOf(command);
  if (argument !== undefined && host !== undefined) {
    throw new AppError('usage', `${argument} and --host ${host} can't both be meant; leave one out.`);
  }
  if (argument !== undefined) return checkServerUrl('The address', argument);
  return host === undefined ? remoteHost(source) : checkServerUrl('--host', host);
}

/**
 * The only server with a stored login. Throws `usage` where there are several, or none but a token in PROFILECTL_TOKEN, for
 * commands that use it, and `not_logged_in` where there is nothing.
 */
export function onlyLogin(token: string | null = null): string {
  const [url, ...others] = readLogins().keys();
  if (url === undefined && token !== null) throw new AppError('usage', TOKEN_ALONE);
  if (url === undefined) {
    throw new AppError(
      'not_logged_in',
      'You are logged in nowhere; run "profilectl login" with the address of a server.',
    );
  }
  if (others.length > 0) throw new AppError('usage', severalText([url, ...others]));
  return url;
}

const TOKEN_ALONE = 'PROFILECTL_TOKEN is set, but no server is named; name one by --host or PROFILECTL_HOST.';

const BOX: Choice = { kind: 'box' };

function hostAt(url: string): Choice {
  return { kind: 'host', url };
}

/** Chooses where neither `--db` nor `--host` is given. */
function choose(path: string, source: Source): Choice {
  const database = databaseHere(source);
  const named = remoteHost(source);
  // An import may change every profile, so it asks no server that nobody named; and it makes a database where none is.
  const isImport = path === 'profiles import';
  if (isImport && named === null && database !== null) return BOX;
  const servers = named === null ? [...readLogins().keys()] : [named];
  if (database !== null) {
    return servers.length === 0 ? BOX : unclear(`Both ${database} and ${serversText(named, servers)} could be meant`);
  }
  if (isImport && named === null) {
    return servers.length === 0
      ? BOX
      : unclear(`An import does not go to ${serversText(named, servers)} unless it is told to`);
  }
  const [url, ...others] = servers;
  if (url === undefined) return { kind: 'unclear', sentence: remoteToken(source) === null ? NOWHERE : TOKEN_ALONE };
  return others.length === 0 ? hostAt(url) : { kind: 'unclear', sentence: severalText(servers) };
}

function unclear(what: string): Choice {
  return { kind: 'unclear', sentence: `${what}; say which by --db <path> or --host <url>.` };
}

const NOWHERE = `There is no database at ${DEFAULT_DATABASE_PATH}, and you are logged in nowhere: --db or DATABASE_PATH names a database, "profilectl login https://…" logs in at a server.`;

/** What names a database of this machine, in words; null where nothing does. */
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
  return `You are logged in at several servers: ${servers.join(', ')}; name one by --host or PROFILECTL_HOST.`;
}
