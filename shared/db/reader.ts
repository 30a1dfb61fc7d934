import { AppError } from '../errors.ts';
import type { Sqlite } from './connect.ts';
import { databaseFault } from './faults.ts';
import { openBeside } from './migrate.ts';

/**
 * The server's read connection. The requests of one turn of the event loop share a read transaction, called a view,
 * because a transaction's locks cost as much as a lookup (3 µs). The next view sees everything committed since. Only the
 * functions of this file change a reader.
 */
export type Reader = {
  readonly sqlite: Sqlite;
  /** How many times a view has seen commits of other connections that the one before had not. */
  commits: number;
  readonly statements: ReturnType<typeof prepareStatements>;
  /** `PRAGMA data_version` in the last view. */
  version: number;
  isOpen: boolean;
  /** When the view was opened, by the monotonic clock of {@link renewView}. */
  openedAtMs: number;
};

/** No request starts in a view older than this, even if a turn is long: servers must see a change within 10 ms. */
const MAX_VIEW_MS = 5;

/** Readers hardly ever meet a lock. */
const BUSY_TIMEOUT_MS = 300;

/**
 * The size of SQLite's page cache, enough for the inner pages of a few million profiles. A larger cache did not make
 * lookups faster, since reading from the system's file cache costs as little. A mapped file (mmap_size) would count as
 * the process's memory, and a disk error would kill the process.
 */
const CACHE_KIB = 8_192;

/**
 * Opens a reader on an existing main database with the current schema. Throws `refused` for any other file, and `busy`.
 */
export function openReader(databasePath: string): Reader {
  const sqlite = openBeside(databasePath, BUSY_TIMEOUT_MS);
  sqlite.run('PRAGMA query_only = ON');
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  return { sqlite, commits: 0, statements: prepareStatements(sqlite), version: -1, isOpen: false, openedAtMs: 0 };
}

function prepareStatements(sqlite: Sqlite) {
  return {
    begin: sqlite.prepare('BEGIN'),
    // ROLLBACK takes as long as COMMIT and has nothing to undo here, but unlike COMMIT it also works after a failed
    // read.
    rollback: sqlite.prepare('ROLLBACK'),
    // The value changes with every commit of another connection, and only between transactions.
    dataVersion: sqlite.prepare<{ data_version: number }, []>('PRAGMA data_version'),
  };
}

/**
 * Runs a function that reads, in the open view or in a new one, and returns its result. After an error of SQLite the
 * view is ended, so that the next read begins a new one. Throws the function's AppErrors unchanged, `busy` for a lock,
 * `refused` for a file that can't be read.
 */
export function readInView<T>(reader: Reader, act: () => T): T {
  try {
    if (!reader.isOpen) openView(reader);
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    endView(reader);
    throw databaseFault(reader.sqlite.filename, error) ?? error;
  }
}

/** Call before each request: ends a view that is older than {@link MAX_VIEW_MS}. `nowMs` is from a monotonic clock. */
export function renewView(reader: Reader, nowMs: number): void {
  if (reader.isOpen && nowMs - reader.openedAtMs > MAX_VIEW_MS) endView(reader);
  if (!reader.isOpen) reader.openedAtMs = nowMs;
}

/** Ends the open view, if any. Never throws: a transaction that can't be ended now is ended before the next view. */
export function endView(reader: Reader): void {
  reader.isOpen = false;
  try {
    if (reader.sqlite.inTransaction) reader.statements.rollback.run();
  } catch {
    // The disk failed; the next view reports that.
  }
}

/** Two thousand profiles of a usual size. More of them would only be more to collect. */
const MAX_KEPT_CHARACTERS = 2 * 1_024 * 1_024;

/** What an entry takes besides its texts, also if nothing was found. */
const ENTRY_CHARACTERS = 128;

/** Hashes of names that were asked for, by their last bits; of all readers, because making it takes a millisecond. */
const askedOnce = new Uint32Array(8_192);

/** Something with a body, or nothing. */
export type Keepable = { body: string | Buffer } | null;

/**
 * Keeps bodies by name until the next commit of another connection: programs ask for the first pages of the leaderboard, or for
 * the same profiles, again and again. What was asked for only once is not kept, because keeping takes as long as reading. Call the
 * returned function in a view.
 */
export function createKept<T extends Keepable>(reader: Reader): (name: string, read: (name: string) => T) => T {
  const kept = new Map<string, T>();
  let characters = 0;
  let commits = -1;
  return (name, read) => {
    if (commits !== reader.commits || characters > MAX_KEPT_CHARACTERS) {
      kept.clear();
      characters = 0;
      commits = reader.commits;
    }
    const known = kept.get(name);
    if (known !== undefined) return known;
    const found = read(name);
    const hash = Bun.hash.xxHash32(name);
    const slot = hash % askedOnce.length;
    if (askedOnce[slot] === hash) {
      kept.set(name, found);
      characters += ENTRY_CHARACTERS + name.length + (found?.body.length ?? 0);
    }
    askedOnce[slot] = hash;
    return found;
  };
}

/** Ends the view and closes the connection. */
export function closeReader(reader: Reader): void {
  endView(reader);
  reader.sqlite.close();
}

function openView(reader: Reader): void {
  const { sqlite, statements } = reader;
  if (sqlite.inTransaction) statements.rollback.run();
  setImmediate(endView, reader);
  statements.begin.run();
  reader.isOpen = true;
  const version = statements.dataVersion.get()?.data_version as number;
  if (version !== reader.version) reader.commits++;
  reader.version = version;
}
