import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Db, leaveLogAlone, openAsItIs, openFile, orClose, type Sqlite, withTables } from '../db/connect.ts';
import { databaseFault, guardDatabase } from '../db/faults.ts';
import { foreignOwner, makeFileLike, realPath } from '../db/file.ts';
import { MIGRATIONS, migrate, type SchemaState, schemaState } from '../db/migrate.ts';
import { type AppError, fileRefusal } from '../errors.ts';
import { copyBeforeMigration } from './copy.ts';

/**
 * How a process uses the database. `serve` creates and migrates it; `fill` (an import) creates it but does not migrate an
 * existing one; `use` (nearly all other commands) requires it to exist with the current schema; `look` (backup, check)
 * accepts an older schema too, and does not write to the file, so that a backup stays as it is.
 */
export type OpenMode = 'serve' | 'fill' | 'use' | 'look';

/** How long a connection waits for another's write lock: for minutes in an import, which lets others go first. */
const BUSY_TIMEOUT_MS = { serve: 10_000, fill: 600_000, use: 10_000, look: 10_000 } as const;

/** How long a running server waits: the wait blocks all requests, which therefore try again themselves (`whenFree`). */
export const SERVING_TIMEOUT_MS = 50;

/**
 * How long a process waits while another one copies and migrates the database. The server waits too, because it does
 * not serve yet.
 */
const MIGRATION_TIMEOUT_MS = 600_000;

/**
 * Opens the main database. Throws `refused`, with the path, if it is missing, belongs to another program, has a newer schema,
 * or has an older schema that this mode must not migrate, or if it would be made or migrated under a running server, and `busy`
 * if it stays locked. New files get mode 0600, a new folder 0700. An existing database is copied before it is migrated, and
 * `onCopied` is called with the path of the copy. With `mustExist` a missing or empty file is refused in every mode.
 */
export function openDatabase(path: string, mode: OpenMode, onCopied = (_copy: string) => {}, mustExist = false): Db {
  const isNeeded = mustExist || mode === 'use' || mode === 'look';
  if (isNeeded && !existsSync(path)) throw missingDatabase(path, mode);
  if (isLost(path)) throw alreadyServed(path);
  return guardDatabase(path, () => {
    const check = (found: Sqlite) => schemaState(found, path);
    const sqlite = openFile(path, BUSY_TIMEOUT_MS[mode], { check, keepsJournalMode: mode === 'look' });
    return orClose(sqlite, () => {
      const state = schemaState(sqlite, path);
      if (isNeeded && state === 'new') throw missingDatabase(path, mode);
      if (mayMigrate(mode, state)) {
        // A server of the previous version has it open, and would answer every request with an error.
        if (state === 'older') refuseServed(path);
        migrateAsOne(sqlite, path, BUSY_TIMEOUT_MS[mode], onCopied);
      } else if (state === 'older' && mode !== 'look') {
        const sentence = `The database ${path} has an older schema; "profilectl serve" migrates it when it starts.`;
        throw fileRefusal(sentence);
      }
      if (mode === 'serve') {
        leaveLogAlone(sqlite);
        sqlite.run(`PRAGMA busy_timeout = ${SERVING_TIMEOUT_MS}`);
      }
      return withTables(sqlite);
    });
  });
}

/**
 * Whether somebody removed the database of a running server, which has made it before it takes its lock: a new one would share
 * the write-ahead log with the old one, and lose what is written there when the server stops.
 */
function isLost(path: string): boolean {
  return !existsSync(path) && isServed(path) && !existsSync(path);
}

function missingDatabase(path: string, mode: OpenMode): AppError {
  const make = 'An import or "profilectl serve" creates one; --db or DATABASE_PATH names another.';
  const mount =
    "No database is created, because DATABASE_MUST_EXIST is on: mount the database's volume, or set the variable to off for the first start.";
  const missing = `There is no database at ${path}. ${mode === 'serve' ? mount : make}`;
  return fileRefusal(foreignOwner(path) ?? missing);
}

function mayMigrate(mode: OpenMode, state: SchemaState): boolean {
  return state !== 'current' && (mode === 'serve' || (mode === 'fill' && state === 'new'));
}

/** Migrates, or waits while another process does. */
function migrateAsOne(sqlite: Sqlite, path: string, busyTimeoutMs: number, onCopied: (copy: string) => void): void {
  sqlite.run(`PRAGMA busy_timeout = ${MIGRATION_TIMEOUT_MS}`);
  migrate(sqlite, path, MIGRATIONS, (applied) => onCopied(copyBeforeMigration(path, applied)));
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
}

// A database has at most one server. It holds SQLite's lock of an empty file beside the database, which the operating
// system releases with the process. A restore holds the same lock.

function lockPathOf(databasePath: string): string {
  return guardDatabase(databasePath, () => `${realPath(databasePath)}.lock`);
}

/**
 * Takes the lock until the result is closed or the process ends. Throws `refused` if another server holds it.
 */
export function takeServerLock(databasePath: string): { close: () => void } {
  const path = lockPathOf(databasePath);
  return guardDatabase(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makeFileLike(dirname(path), path);
    const lock = openAsItIs(path, 'write', 0);
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
function refuseServed(databasePath: string): void {
  if (isServed(databasePath)) throw alreadyServed(databasePath);
}

function alreadyServed(databasePath: string): AppError {
  return fileRefusal(`A server is running on ${databasePath}; stop it first: a database can have only one server.`);
}

/** Whether a server holds the lock of this database; takes no lock. */
export function isServed(databasePath: string): boolean {
  const path = lockPathOf(databasePath);
  let lock: Sqlite | null = null;
  try {
    lock = openAsItIs(path, 'read', 0);
    lock.query('SELECT 1 FROM sqlite_schema').get();
    return false;
  } catch (error) {
    const fault = databaseFault(path, error);
    if (fault?.code === 'busy') return true;
    if ((error as { code?: string }).code === 'SQLITE_CANTOPEN') return false;
    throw fault ?? error;
  } finally {
    lock?.close();
  }
}
