import { constants, Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';
import { isImmutable, realPath } from './disk.ts';
import type * as schema from './schema.ts';

/** The bare connection; only files of `shared/` use it. */
export type Sqlite = Database;

/** The main database, opened: all that the server needs of it. */
export type Opened = { $client: Sqlite };

/** The same through Drizzle (`withTables`). */
export type Db = BunSQLiteDatabase<typeof schema> & Opened;

/** What a write transaction hands to its function: the same tables, inside the transaction. */
export type Tx = Parameters<Parameters<Db['transaction']>[0]>[0];

/** How long a bare connection waits for another's lock, milliseconds. */
const BARE_BUSY_TIMEOUT_MS = 10_000;

/** Opens an existing file as it is, whatever its schema and journal mode: copies, backups, what is to be restored over. */
export function openBare(path: string, access: 'read' | 'write'): Sqlite {
  const sqlite = new Database(path, { readonly: access === 'read', readwrite: access === 'write', strict: true });
  sqlite.run(`PRAGMA busy_timeout = ${BARE_BUSY_TIMEOUT_MS}`);
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
