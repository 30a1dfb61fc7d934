import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { DEFAULT_DATABASE_PATH } from '../../shared/config/database-path.ts';
import { foreignOwner } from '../../shared/db/owner.ts';
import { AppError } from '../../shared/errors.ts';
import { pathOf, scopeOf } from './command-scope.ts';
import { readLogins } from './stored-logins.ts';

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
