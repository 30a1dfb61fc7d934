import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { DEFAULT_DATABASE_PATH } from '../../shared/config/database-path.ts';
import { foreignOwner } from '../../shared/db/owner.ts';
import { AppError } from '../../shared/errors.ts';
import { readLogins } from './stored-logins.ts';

/** What a command works on: the database of this machine, servers elsewhere, or whichever of the two is meant. */
export type CommandScope = 'box' | 'server' | 'either';

/** The words of a command after the program's name, such as `keys list`. */
export function pathOf(command: Command): string {
  const { parent } = command;
  if (parent === null) return '';
  const path = pathOf(parent);
  return path === '' ? command.name() : `${path} ${command.name()}`;
}

/** What a command works on. `keys check` looks at a secret only, without any database. */
export function scopeOf(command: Command): CommandScope {
  const path = pathOf(command);
  if (/^(login|logout|whoami)$/.test(path)) return 'server';
  return /^(keys (?!check$)|profiles import$)/.test(path) ? 'either' : 'box';
}

/**
 * Throws `refused` where `--host` is given to a command that only works on the box, and `usage` where `--db` is given to one
 * that is about servers: to go on would do something else than what was meant.
 */
export function checkScope(command: Command): void {
  const { db, host } = command.optsWithGlobals<{ db?: string; host?: string }>();
  const place = scopeOf(command);
  const named = `"profilectl ${pathOf(command)}"`;
  if (place === 'box' && host !== undefined) {
    const why =
      pathOf(command) === 'keys check' ? 'asks no server' : 'is for the box only, the machine with the database';
    throw new AppError('refused', `${named} ${why}; it takes no --host.`);
  }
  if (place === 'server' && db !== undefined) {
    throw new AppError('usage', `${named} is about servers; it takes no --db.`);
  }
}

/**
 * Throws `refused` where a command for the box only finds no database, and this user is logged in at a server: most likely
 * the person is at their own machine, and expects the login to be used. Otherwise opening the database says what is wrong.
 */
export function checkIsOnBox(command: Command, databasePath: string): void {
  if (scopeOf(command) !== 'box' || existsSync(databasePath)) return;
  const servers = storedServers();
  if (servers === '') return;
  // A database that was named may be there, only not for this user.
  if (databasePath !== DEFAULT_DATABASE_PATH && foreignOwner(databasePath) !== null) return;
  const where = `is for the box only, the machine with the database, and there is none at ${databasePath}.`;
  const login = `The login at ${servers} is not asked.`;
  throw new AppError(
    'refused',
    `"profilectl ${pathOf(command)}" ${where} ${login} --db or DATABASE_PATH names another database.`,
  );
}

/** The servers with a stored login, in words; empty where there are none, or where they can't be read. */
function storedServers(): string {
  try {
    return [...readLogins().keys()].join(' and ');
  } catch (error) {
    if (error instanceof AppError) return '';
    throw error;
  }
}
