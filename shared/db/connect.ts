import { Database, SQLiteError } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite';
import { systemClock } from '../clock.ts';
import { makeFileLike } from './file.ts';

/** A bare SQLite connection, which only `shared/` uses. */
export type Sqlite = Database;

/** The open main database. */
export type Db = BunSQLiteDatabase & { $client: Sqlite };

/** Wraps an open connection to the main database in Drizzle. */
export function withTables(sqlite: Sqlite): Db {
  // Drizzle would have SQLite compile each statement again, which takes longer than running most of them. These are all that
  // it uses of a connection, which caches statements until it is closed.
  const client = {
    prepare: (text: string) => sqlite.query(text),
    transaction: sqlite.transaction.bind(sqlite),
    exec: sqlite.exec.bind(sqlite),
  };
  return Object.assign(drizzle(client as Sqlite), { $client: sqlite });
}

declare const IS_IN_TRANSACTION: unique symbol;

/** The tables inside a write transaction, which passes them to its function ({@link isInTransaction}). */
export type Tx = Db & { readonly [IS_IN_TRANSACTION]: true };

/**
 * Prepares a query once for each database: Drizzle takes 70 µs to make the query of a key, SQLite 5 µs to run it, and a page of
 * the queue runs three hundred. `make` has `sql.placeholder` for what varies.
 */
export function preparedOnce<Query>(make: (db: Db | Tx) => Query): (db: Db | Tx) => Query {
  const known = new WeakMap<Db | Tx, Query>();
  return (db) => {
    const query = known.get(db) ?? make(db);
    known.set(db, query);
    return query;
  };
}

/**
 * Whether the connection has an open transaction. It has one at a time, so a transaction's tables are the database's.
 */
export function isInTransaction(db: Db): db is Tx {
  return db.$client.inTransaction;
}

// The number of statements that a connection caches by their text. The portal needs more than the default of 20; SQLite
// would compile the others again and again.
Database.MAX_QUERY_CACHE_SIZE = 200;

const BUSY_TIMEOUT_MS = 10_000;

/**
 * Opens an existing file without checking its schema or changing its journal mode: for copies, backups, and a database
 * that a restore will replace.
 */
export function openAsItIs(path: string, access: 'read' | 'write', busyTimeoutMs = BUSY_TIMEOUT_MS): Sqlite {
  const sqlite = new Database(path, { readonly: access === 'read', readwrite: access === 'write', strict: true });
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  sqlite.run('PRAGMA trusted_schema = OFF');
  if (access === 'write') prepareWrites(sqlite);
  return sqlite;
}

/** Options for opening a file of this program. */
export type Opening = {
  /** Runs before the first pragma that writes. May throw; another program's file then stays unchanged. */
  check?: (sqlite: Sqlite) => void;
  create?: boolean;
  /** Whether the journal mode stays as it is: a change of it is written into the file. */
  keepsJournalMode?: boolean;
  /** Whether a confirmed commit survives a power cut, not only a crash of the program. */
  isDurable?: boolean;
};

/** Opens a file of this program, in WAL mode unless it keeps its own, with the pragmas that every connection needs. */
export function openFile(path: string, busyTimeoutMs: number, opening: Opening = {}): Sqlite {
  const { create = true } = opening;
  // SQLite creates the file with the mode of the umask, and the `-wal` and `-shm` files with the mode of the main file.
  const umask = process.umask(0o077);
  try {
    if (create) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      makeFileLike(dirname(path), path);
    }
    const sqlite = new Database(path, { readwrite: true, create, strict: true });
    return orClose(sqlite, () => prepareConnection(sqlite, busyTimeoutMs, opening));
  } finally {
    process.umask(umask);
  }
}

/** Returns the function's result for a newly opened connection, and closes the connection if the function throws. */
export function orClose<T>(sqlite: Sqlite, act: () => T): T {
  try {
    return act();
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function prepareConnection(
  sqlite: Sqlite,
  busyTimeoutMs: number,
  { check, keepsJournalMode = false, isDurable = true }: Opening,
): Sqlite {
  // Set first, so that the statements below wait for locks too.
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  // A view or trigger planted in the file must not call functions with side effects.
  sqlite.run('PRAGMA trusted_schema = OFF');
  check?.(sqlite);
  if (!keepsJournalMode) useWriteAheadLog(sqlite, busyTimeoutMs);
  sqlite.run(`PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`);
  prepareWrites(sqlite);
  return sqlite;
}

/** The pause before another try to change a new file to WAL mode. */
const WAL_PAUSE_MS = 2;

/**
 * Changes the file to WAL mode, in which readers and one writer don't block each other, so that requests never wait for an
 * import. While another process does the same to a new file, SQLite refuses at once instead of waiting for the lock, because
 * both might wait for each other.
 */
function useWriteAheadLog(sqlite: Sqlite, busyTimeoutMs: number): void {
  const untilMs = systemClock.monotonicMs() + busyTimeoutMs;
  for (;;) {
    try {
      sqlite.run('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = error instanceof SQLiteError && error.code === 'SQLITE_BUSY';
      if (!isBusy || systemClock.monotonicMs() >= untilMs) throw error;
    }
    Bun.sleepSync(WAL_PAUSE_MS);
  }
}

/** Sets the pragmas of every connection that changes data. */
function prepareWrites(sqlite: Sqlite): void {
  sqlite.run('PRAGMA foreign_keys = ON');
  // SQLite overwrites deleted and replaced data, so that an erasure leaves nothing in free pages. Imports are not
  // measurably slower.
  sqlite.run('PRAGMA secure_delete = ON');
}

/** Begins a snapshot of the database; all reads see it until it is disposed of. */
export function beginSnapshot(sqlite: Sqlite): Disposable {
  sqlite.run('BEGIN');
  return { [Symbol.dispose]: () => void sqlite.run('ROLLBACK') };
}

/**
 * Runs a function with a different busy timeout: how long the connection waits for other connections' locks (0: not at
 * all). The previous timeout is restored afterwards.
 */
export function withBusyTimeout<T>(sqlite: Sqlite, timeoutMs: number, act: () => T): T {
  const { timeout } = sqlite.query('PRAGMA busy_timeout').get() as { timeout: number };
  sqlite.run(`PRAGMA busy_timeout = ${timeoutMs}`);
  try {
    return act();
  } finally {
    sqlite.run(`PRAGMA busy_timeout = ${timeout}`);
  }
}

/**
 * Switches automatic checkpoints off: within a COMMIT they copy the write-ahead log into the database, which in the server
 * would hold up every request for as long as the disk takes. Somebody else has to do it (`shared/files/disk.ts`).
 */
export function leaveLogAlone(sqlite: Sqlite): void {
  sqlite.run('PRAGMA wal_autocheckpoint = 0');
}
