import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { openBare, type Sqlite } from '../db/connect.ts';
import { databaseFault, guardDatabase } from '../db/faults.ts';
import { makeFileLike } from '../db/owner.ts';
import { isOnReadOnlyDisk, realPath } from '../db/real-path.ts';
import { type AppError, fileRefusal } from '../errors.ts';

// A database has at most one server. It holds SQLite's lock of an empty file beside the database, which the operating
// system releases with the process. A restore holds the same lock.

function lockPathOf(databasePath: string): string {
  return `${realPath(databasePath)}.lock`;
}

/**
 * Takes the lock until the result is closed or the process ends. Throws `refused` if another server holds it. On a
 * read-only disk no lock is taken, because nobody can write there.
 */
export function lockForServing(databasePath: string): { close: () => void } {
  const path = lockPathOf(databasePath);
  if (isOnReadOnlyDisk(databasePath)) {
    refuseServed(databasePath);
    return { close: () => {} };
  }
  return guardDatabase(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makeFileLike(dirname(path), path);
    const lock = openBare(path, 'write', 0);
    try {
      // Nothing is ever written to the file, so it needs no journal beside it.
      lock.run('PRAGMA journal_mode = MEMORY');
      lock.run('BEGIN EXCLUSIVE');
      return lock;
    } catch (error) {
      lock.close();
      throw databaseFault(path, error)?.code === 'busy' ? alreadyServed(databasePath) : error;
    }
  });
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
  let lock: Sqlite | null = null;
  try {
    lock = openBare(path, 'read', 0);
    lock.query('SELECT 1 FROM sqlite_schema').get();
    return otherwise;
  } catch (error) {
    const fault = databaseFault(path, error);
    if (fault?.code === 'busy') return true;
    if ((error as { code?: string }).code === 'SQLITE_CANTOPEN') return otherwise;
    throw fault ?? error;
  } finally {
    lock?.close();
  }
}
