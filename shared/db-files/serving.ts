import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { isEmpty } from '../db/catalog.ts';
import { openBare } from '../db/connect.ts';
import { databaseFault, guardDatabase } from '../db/faults.ts';
import { isOnReadOnlyDisk, realPath } from '../db/real-path.ts';
import { type AppError, fileRefusal } from '../errors.ts';
import { tryFileLock } from './file-lock.ts';

// A database has at most one server. The server locks a file beside the database, which it finds under any of the
// database's names.

function lockPathOf(databasePath: string): string {
  return `${realPath(databasePath)}.lock`;
}

/** Keeps other servers from using a database until it is closed. */
export type ServingLock = { close: () => void };

/**
 * Takes the lock until it is closed or the process ends. Throws `refused` if another server holds it. On a read-only
 * disk no lock is taken, because nobody can write there and quotas are not saved.
 */
export function lockForServing(databasePath: string): ServingLock {
  const path = lockPathOf(databasePath);
  if (isOnReadOnlyDisk(databasePath)) {
    refuseServed(databasePath);
    return { close: () => {} };
  }
  const lock = guardDatabase(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'a', 0o600));
    return tryFileLock(path, 0);
  });
  if (lock === null) throw alreadyServed(databasePath);
  return lock;
}

/** Throws `refused` while a server runs on this database. */
export function refuseServed(databasePath: string): void {
  if (isServed(databasePath) === true) throw alreadyServed(databasePath);
}

function alreadyServed(databasePath: string): AppError {
  return fileRefusal(`A server is running on ${databasePath}; stop it first: a database can have only one server.`);
}

/**
 * Whether a server holds the lock of this database; takes no lock. Null if that is unknown: on a read-only disk servers
 * take no lock.
 */
export function isServed(databasePath: string): boolean | null {
  const path = lockPathOf(databasePath);
  const otherwise = isOnReadOnlyDisk(databasePath) ? null : false;
  if (!existsSync(path)) return otherwise;
  using lock = openBare(path, 'read');
  try {
    lock.run('PRAGMA busy_timeout = 0');
    isEmpty(lock);
    return otherwise;
  } catch (error) {
    if (databaseFault(path, error)?.code === 'busy') return true;
    throw databaseFault(path, error) ?? error;
  }
}
