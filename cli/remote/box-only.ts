import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { DEFAULT_DATABASE_PATH } from '../../shared/config/database-path.ts';
import { foreignOwner } from '../../shared/db/owner.ts';
import { AppError } from '../../shared/errors.ts';
import { pathOf, scopeOf } from './command-scope.ts';
import { readLogins } from './stored-logins.ts';

/**
 * Throws `refused` if a command that works only on the server itself finds no database, and this user is logged in to a
 * server: they probably expect the login to be used. In other cases, opening the database fails with the reason.
 */
export function checkIsOnBox(command: Command, databasePath: string): void {
  if (scopeOf(command) !== 'box' || existsSync(databasePath)) return;
  const servers = storedServers();
  if (servers === '') return;
  // A named database may exist, but be invisible to this user.
  if (databasePath !== DEFAULT_DATABASE_PATH && foreignOwner(databasePath) !== null) return;
  const where = `works only on the server itself, and there is no database at ${databasePath}.`;
  const login = `The login to ${servers} is not used.`;
  throw new AppError(
    'refused',
    `"profilectl ${pathOf(command)}" ${where} ${login} Use --db or DATABASE_PATH to name another database.`,
  );
}

/** The servers with a stored login, as text; empty if there are none, or if they can't be read. */
function storedServers(): string {
  try {
    return [...readLogins().keys()].join(' and ');
  } catch (error) {
    if (error instanceof AppError) return '';
    throw error;
  }
}
