import { constants, Database, SQLiteError } from 'bun:sqlite';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';
import { AppError } from '../errors.ts';
import { isImmutable, makeReserve, realPath, refillReserve, refuseSecondName, spendReserve } from './disk.ts';
import { migrate, type SchemaState, schemaState } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import type * as schema from './schema.ts';
import { copyBeforeMigration } from './snapshot.ts';

/** The bare connection; only files of `shared/` use it. */
export type Sqlite = Database;

/** The main database, opened: all that the server needs of it. */
export type Opened = { $client: Sqlite };

/** The same through Drizzle (`withTables`). */
export type Db = BunSQLiteDatabase<typeof schema> & Opened;

/** What a write transaction hands to its function: the same tables, inside the transaction. */
export type Tx = Parameters<Parameters<Db['transaction']>[0]>[0];

/**
 * How a process comes to the database. `serve` creates and migrates, `fill` (import, demo) creates and migrates only a
 * new one, `use` (nearly every other command) wants it there and current, `look` (backup, check) there and not newer.
 */
export type OpenMode = 'serve' | 'fill' | 'use' | 'look';

/** How long a connection waits for another's write lock. In the server the wait freezes every request, so it is short. */
const BUSY_TIMEOUT_MS = { serve: 300, fill: 10_000, use: 10_000, look: 10_000 } as const;

/** While one process copies and migrates, those that start beside it wait, the server too: nobody is served yet. */
const MIGRATION_TIMEOUT_MS = 600_000;

/**
 * Opens the main database. Throws `refused` where it is missing, older, newer or not ours, naming the path, and `busy`
 * where it stays locked. New files get mode 0600, a new folder 0700. Before an existing database is migrated it is copied
 * aside, and `onCopied` is told where.
 */
export function openDatabase(path: string, mode: OpenMode, onCopied: (copy: string) => void = () => {}): Opened {
  if ((mode === 'use' || mode === 'look') && !existsSync(path)) {
    const sentence = `There is no database at ${path}. "profilectl profiles import" or "profilectl serve" creates one; --db or DATABASE_PATH names another.`;
    throw new AppError('refused', sentence);
  }
  refuseSecondName(path);
  spendReserve(path);
  return guardDatabase(path, () => {
    const sqlite = openFile(path, BUSY_TIMEOUT_MS[mode], (found) => schemaState(found, path));
    try {
      // FULL: a commit that was reported (a revocation, an activation) survives a power cut.
      sqlite.run('PRAGMA synchronous = FULL');
      // What is deleted or replaced is overwritten in the file, so that an erasure leaves nothing in its free pages. It
      // costs imports nothing that could be measured.
      sqlite.run('PRAGMA secure_delete = ON');
      const state = schemaState(sqlite, path);
      if (mayMigrate(mode, state)) migrateAsOne(sqlite, path, BUSY_TIMEOUT_MS[mode], onCopied);
      else if (state === 'new' || (state === 'older' && mode !== 'look')) {
        throw new AppError(
          'refused',
          `The database ${path} ${state === 'new' ? 'is empty' : 'has an older schema'}; "profilectl serve" migrates it when it starts.`,
        );
      }
      if (mode === 'serve' || mode === 'fill') makeReserve(path);
      return { $client: sqlite };
    } catch (error) {
      sqlite.close();
      throw error;
    }
  });
}

/** Closes a main database; the room on the disk that this frees is kept for opening it again. */
export function closeDatabase({ $client: sqlite }: Opened): void {
  sqlite.close();
  refillReserve(sqlite.filename);
}

function mayMigrate(mode: OpenMode, state: SchemaState): boolean {
  return state !== 'current' && (mode === 'serve' || (mode === 'fill' && state === 'new'));
}

function migrateAsOne(sqlite: Sqlite, path: string, busyTimeoutMs: number, onCopied: (copy: string) => void): void {
  sqlite.run(`PRAGMA busy_timeout = ${MIGRATION_TIMEOUT_MS}`);
  migrate(sqlite, path, MIGRATIONS, (applied) => onCopied(copyBeforeMigration(path, applied)));
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
}

/** Opens an existing file as it is, whatever its schema and journal mode: copies, backups, what is to be restored over. */
export function openBare(path: string, access: 'read' | 'write'): Sqlite {
  const sqlite = new Database(path, { readonly: access === 'read', readwrite: access === 'write', strict: true });
  sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS.use}`);
  sqlite.run('PRAGMA trusted_schema = OFF');
  return sqlite;
}

/**
 * Opens any file of ours in WAL mode with the pragmas that every connection needs. `check` may throw before the first of
 * them that writes, so that a file of somebody else's is left as it was.
 */
export function openFile(
  path: string,
  busyTimeoutMs: number,
  check: (sqlite: Sqlite) => void = () => {},
  create = true,
): Sqlite {
  // SQLite gives its files the umask's mode; the WAL and the shared memory follow the main file.
  const umask = process.umask(0o077);
  try {
    if (create) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const sqlite = connect(path, create);
    try {
      prepareConnection(sqlite, busyTimeoutMs, check);
      return sqlite;
    } catch (error) {
      sqlite.close();
      throw error;
    }
  } finally {
    process.umask(umask);
  }
}

/**
 * One more connection to a main database that is there and current; unless told otherwise it waits for no lock. Throws `refused` for any other,
 * and `busy`; it never makes a file, so a database that was taken away is not replaced by an empty one.
 */
export function openBeside(path: string, busyTimeoutMs = 0): Sqlite {
  const mustBeCurrent = (sqlite: Sqlite) => {
    if (schemaState(sqlite, path) !== 'current') throw new AppError('refused', `The database ${path} is not current.`);
  };
  return guardDatabase(path, () => openFile(path, busyTimeoutMs, mustBeCurrent, false));
}

function connect(path: string, create: boolean): Sqlite {
  if (!isImmutable(path)) return new Database(path, { readwrite: true, create, strict: true });
  const url = `${Bun.pathToFileURL(realPath(path)).href}?immutable=1`;
  const sqlite = new Database(url, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
  // Everything else knows the file by its path.
  return Object.defineProperty(sqlite, 'filename', { value: path });
}

function prepareConnection(sqlite: Sqlite, busyTimeoutMs: number, check: (sqlite: Sqlite) => void): void {
  // First, so that everything below waits too.
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  // A planted view or trigger may not call functions with side effects.
  sqlite.run('PRAGMA trusted_schema = OFF');
  check(sqlite);
  // Readers and one writer side by side: a request never waits for an import.
  sqlite.run('PRAGMA journal_mode = WAL');
  sqlite.run('PRAGMA foreign_keys = ON');
}

/** Runs a function in one immediate transaction: the write lock is taken before the first read, so it can't be stale. */
export function write<T>(db: Db, act: (tx: Tx) => T): T {
  return guardDatabase(db.$client.filename, () =>
    db.transaction(
      (tx) => {
        const result = act(tx);
        if (result instanceof Promise)
          throw new Error('a transaction may not wait: it would commit at the first await');
        return result;
      },
      { behavior: 'immediate' },
    ),
  );
}

/** Runs a function and turns SQLite's faults into sentences: `busy` for a lock, `refused` for a full disk and the like. */
export function guardDatabase<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof AppError ? error : (databaseFault(path, error) ?? error);
  }
}

/** The refusal that a SQLite fault amounts to, or null where the error is something else. */
export function databaseFault(path: string, error: unknown): AppError | null {
  const fault = error instanceof SQLiteError ? error : error instanceof Error ? error.cause : null;
  if (!(fault instanceof SQLiteError)) return isFileFault(error) ? unusable(path, error) : null;
  const code = fault.code ?? '';
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return new AppError('busy', `The database ${path} is locked by another process; try again.`, { cause: error });
  }
  if (code === 'SQLITE_NOTADB') return new AppError('refused', `${path} is not a Profile Lookup database.`);
  // The second: no room for the `-shm` file.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') {
    return new AppError('refused', `There is no room left on the disk of ${path}; nothing of this step was written.`);
  }
  if (/^SQLITE_(CANTOPEN|READONLY|IOERR|CORRUPT|PERM|AUTH)/.test(code)) return unusable(path, error);
  return null;
}

function isFileFault(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

function unusable(path: string, cause: unknown): AppError {
  const code = (cause as { code?: string }).code ?? 'unknown fault';
  const sentence = `The database ${path} can't be used (${code}); check the file, its folder and its disk.`;
  return new AppError('refused', sentence, { cause });
}
