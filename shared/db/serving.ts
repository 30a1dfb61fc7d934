import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../errors.ts';
import { databaseFault, openBare, realPath, type Sqlite } from './open.ts';

// One database has one server: it holds a lock file beside the database, found from every name that the database has.

function lockPathOf(databasePath: string): string {
  return `${realPath(databasePath)}.lock`;
}

/**
 * Holds the lock file until the process ends, however it ends, or it is closed. Throws `refused` where another server
 * holds it.
 */
export function lockForServing(databasePath: string): Sqlite {
  const path = lockPathOf(databasePath);
  let lock: Sqlite | null = null;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'a', 0o600));
    lock = openBare(path, 'write');
    lock.run('PRAGMA busy_timeout = 0');
    lock.run('PRAGMA locking_mode = EXCLUSIVE');
    lock.run('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const fault = databaseFault(path, error);
    if (fault?.code !== 'busy') throw fault ?? error;
    throw new AppError(
      'refused',
      `A server is running on ${databasePath}; stop it first: one database has one server.`,
    );
  }
}

/** Whether a server holds the lock of this database; looks only, and takes nothing. */
export function isServed(databasePath: string): boolean {
  const path = lockPathOf(databasePath);
  if (!existsSync(path)) return false;
  const lock = openBare(path, 'read');
  try {
    lock.run('PRAGMA busy_timeout = 0');
    lock.query('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (databaseFault(path, error)?.code === 'busy') return true;
    throw databaseFault(path, error) ?? error;
  } finally {
    lock.close();
  }
}
