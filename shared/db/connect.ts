import { constants, Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';
import { isImmutable, realPath } from './real-path.ts';

/** A bare SQLite connection; only files of `shared/` use it. */
export type Sqlite = Database;

/** The open main database without Drizzle, which is all that the server needs. */
export type Opened = { $client: Sqlite };

/** The open main database with Drizzle (`withTables`). */
export type Db = BunSQLiteDatabase & Opened;

declare const IS_IN_TRANSACTION: unique symbol;

/** The argument that a write transaction passes to its function: the tables inside the transaction ({@link isInTransaction}). */
export type Tx = Db & { readonly [IS_IN_TRANSACTION]: true };

/** Whether the connection has a transaction open. It has one at a time, so the tables inside it are those of the database. */
export function isInTransaction(db: Db): db is Tx {
  return db.$client.inTransaction;
}

// How many statements a connection caches by their text. The pages need more than the default of 20, and SQLite would
// compile the others again and again.
Database.MAX_QUERY_CACHE_SIZE = 200;

/** How long a bare connection waits for locks of other connections, in milliseconds. */
const BARE_BUSY_TIMEOUT_MS = 10_000;

/**
 * Opens an existing file without checking its schema or changing its journal mode: for copies, backups, and a database
 * that a restore will replace. `immutable` reads the main file alone, and neither makes nor leaves a file beside it.
 */
export function openBare(path: string, access: 'read' | 'write' | 'immutable'): Sqlite {
  const sqlite =
    access === 'immutable'
      ? connectImmutable(path)
      : new Database(path, { readonly: access === 'read', readwrite: access === 'write', strict: true });
  sqlite.run(`PRAGMA busy_timeout = ${BARE_BUSY_TIMEOUT_MS}`);
  sqlite.run('PRAGMA trusted_schema = OFF');
  return sqlite;
}

/** How a file of this program is opened. */
export type Opening = {
  /** Runs before the first pragma that writes and may throw, so that another program's file stays unchanged. */
  check?: (sqlite: Sqlite) => void;
  /** False if a missing file is an error. */
  create?: boolean;
  /** Whether a confirmed commit survives a power cut; without this, it survives a crash of the program. */
  isDurable?: boolean;
};

/** Opens a file of this program in WAL mode with the pragmas that every connection needs. */
export function openFile(path: string, busyTimeoutMs: number, opening: Opening = {}): Sqlite {
  const { create = true } = opening;
  // SQLite creates a file with the mode of the umask; the write-ahead log and the shared memory file get the mode of
  // the main file.
  const umask = process.umask(0o077);
  try {
    if (create) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return orClose(connect(path, create), (sqlite) => prepareConnection(sqlite, busyTimeoutMs, opening));
  } finally {
    process.umask(umask);
  }
}

/** Returns what a function makes of a connection that was just opened, and closes the connection if it throws. */
export function orClose<T>(sqlite: Sqlite, act: (sqlite: Sqlite) => T): T {
  try {
    return act(sqlite);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Opens an empty database in memory, for which no file or folder is touched: not even the current one. */
export function openInMemory(): Sqlite {
  return prepareConnection(new Database(':memory:', { strict: true }), 0, {});
}

function connect(path: string, create: boolean): Sqlite {
  return isImmutable(path) ? connectImmutable(path) : new Database(path, { readwrite: true, create, strict: true });
}

function connectImmutable(path: string): Sqlite {
  const url = `${Bun.pathToFileURL(realPath(path)).href}?immutable=1`;
  const sqlite = new Database(url, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
  // Callers expect the path in `filename`, not the URL.
  return Object.defineProperty(sqlite, 'filename', { value: path });
}

function prepareConnection(sqlite: Sqlite, busyTimeoutMs: number, { check, isDurable = true }: Opening): Sqlite {
  // Set first, so that the statements below wait for locks too.
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  // A view or trigger that somebody planted in the file must not call functions with side effects.
  sqlite.run('PRAGMA trusted_schema = OFF');
  check?.(sqlite);
  // WAL mode lets readers and one writer work side by side, so a request never waits for an import.
  sqlite.run('PRAGMA journal_mode = WAL');
  sqlite.run(`PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`);
  prepareWrites(sqlite);
  return sqlite;
}

/** Sets the pragmas of every connection that changes data. */
export function prepareWrites(sqlite: Sqlite): void {
  sqlite.run('PRAGMA foreign_keys = ON');
  // SQLite overwrites deleted and replaced data, so that an erasure leaves nothing in the file's free pages. Imports are
  // not measurably slower.
  sqlite.run('PRAGMA secure_delete = ON');
}

/** Begins a snapshot of the database, from which everything is read until it is disposed of. Throws SQLite's errors. */
export function beginSnapshot(sqlite: Sqlite): Disposable {
  sqlite.run('BEGIN');
  return { [Symbol.dispose]: () => void sqlite.run('ROLLBACK') };
}
