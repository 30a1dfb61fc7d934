import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { openBare, type Sqlite } from '../db/connect.ts';
import { databaseFault } from '../db/faults.ts';
import { isOnReadOnlyDisk, realPath } from '../db/real-path.ts';
import { type AppError, fileRefusal } from '../errors.ts';

// A database has at most one server. The server holds a lock file beside the database, found from each of its names.

function lockPathOf(databasePath: string): string {
  return `${realPath(databasePath)}.lock`;
}

/** Keeps other servers away from a database until it is closed. */
export type ServingLock = { close: () => void };

/**
 * Takes the lock until it is closed or the process ends, however it ends. Throws `refused` if another server holds it.
 * On a read-only disk no lock is taken, because nobody can write there and quotas are not saved.
 */
export function lockForServing(databasePath: string): ServingLock {
  const path = lockPathOf(databasePath);
  if (isOnReadOnlyDisk(databasePath)) {
    refuseServed(databasePath);
    return { close: () => {} };
  }
  let lock: Sqlite | null = null;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'a', 0o600));
    lock = openBare(path, 'write');
    lock.run('PRAGMA busy_timeout = 0');
    lock.run('PRAGMA locking_mode = EXCLUSIVE');
    // Nothing is ever written into this file. Without a journal file the lock needs no room on the disk.
    lock.run('PRAGMA journal_mode = MEMORY');
    lock.run('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const fault = databaseFault(path, error);
    if (fault?.code !== 'busy') throw fault ?? error;
    throw isServedAlready(databasePath);
  }
}

/** Throws `refused` while a server runs on this database. */
export function refuseServed(databasePath: string): void {
  if (isServed(databasePath) === true) throw isServedAlready(databasePath);
}

function isServedAlready(databasePath: string): AppError {
  return fileRefusal(`A server is running on ${databasePath}; stop it first: one database has one server.`);
}

/**
 * True if a server holds the lock of this database; only looks and takes no lock. Null if that can't be known: on a
 * read-only disk servers take no lock.
 */
export function isServed(databasePath: string): boolean | null {
  const path = lockPathOf(databasePath);
  const otherwise = isOnReadOnlyDisk(databasePath) ? null : false;
  if (!existsSync(path)) return otherwise;
  const lock = openBare(path, 'read');
  try {
    lock.run('PRAGMA busy_timeout = 0');
    lock.query('SELECT count(*) FROM sqlite_schema').get();
    return otherwise;
  } catch (error) {
    if (databaseFault(path, error)?.code === 'busy') return true;
    throw databaseFault(path, error) ?? error;
  } finally {
    lock.close();
  }
}
