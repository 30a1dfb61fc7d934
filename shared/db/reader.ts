import { AppError } from '../errors.ts';
import type { Sqlite } from './connect.ts';
import { databaseFault } from './faults.ts';
import { openBeside } from './open-beside.ts';

/**
 * The server's read connection. Requests share a read transaction, called a view, because a transaction's locks cost as
 * much as a lookup (3 µs). A view begins with the first read and ends with the turn of the event loop or, under load,
 * after {@link VIEW_MS}; the next view sees everything committed since. Only the functions of this file change a
 * reader.
 */
export type Reader = {
  readonly sqlite: Sqlite;
  /** Reports an error to the operator that no response shows. */
  readonly report: ReportFault;
  readonly statements: ReturnType<typeof prepareStatements>;
  readonly listeners: OnView[];
  /** `PRAGMA data_version` when all listeners were last called; -1 before the first view. */
  version: number;
  isOpen: boolean;
  /** When the view was opened, by the monotonic clock of {@link renewView}. */
  openedAtMs: number;
  reads: number;
  /** Whether the server is under load: views last for {@link VIEW_MS} instead of one turn of the event loop. */
  isBusy: boolean;
  /** Ends the current period; null if nothing is being read. */
  timer: Timer | null;
};

/** Receives a sentence for the operator's log, and the underlying error. */
export type ReportFault = (sentence: string, cause: unknown) => void;

/**
 * Called with whether the view sees newer commits than the previous view, and when the view was opened, in milliseconds
 * of the monotonic clock of {@link renewView}.
 */
export type OnView = (hasCommits: boolean, nowMs: number) => void;

/** How long a view lasts under load, and the length of the periods for which reads are counted. */
const VIEW_MS = 2;

/** More reads than this in {@link VIEW_MS} count as load; a turn of the event loop then has about three requests. */
const BUSY_READS = 32;

/**
 * No request starts in a view older than this, even if a turn is long or a timer late: servers must see a change within
 * 10 ms.
 */
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
export function openReader(databasePath: string, report: ReportFault = () => {}): Reader {
  const sqlite = openBeside(databasePath, BUSY_TIMEOUT_MS);
  sqlite.run('PRAGMA query_only = ON');
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  return {
    sqlite,
    report,
    statements: prepareStatements(sqlite),
    listeners: [],
    version: -1,
    isOpen: false,
    openedAtMs: 0,
    reads: 0,
    isBusy: false,
    timer: null,
  };
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

/** Registers a function to call inside each view, at its start. */
export function onView(reader: Reader, act: OnView): void {
  reader.listeners.push(act);
}

/** Registers a function to call inside each view that sees newer data than the one before, at its start. */
export function onCommit(reader: Reader, act: () => void): void {
  onView(reader, (hasCommits) => {
    if (hasCommits) act();
  });
}

/**
 * Runs a function that reads, in the open view or in a new one, and returns its result. After an error of SQLite the
 * view is ended, so that the next read begins a new one. Throws the function's AppErrors unchanged, `busy` for a lock,
 * `refused` for a file that can't be read.
 */
export function readInView<T>(reader: Reader, act: () => T): T {
  try {
    openView(reader);
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

/** Ends the open view, if any. Never throws. */
export function endView(reader: Reader): void {
  if (!reader.isOpen) return;
  reader.isOpen = false;
  endTransaction(reader);
}

/** Ends the view and closes the connection. */
export function closeReader(reader: Reader): void {
  if (reader.timer !== null) clearTimeout(reader.timer);
  endView(reader);
  reader.sqlite.close();
}

function openView(reader: Reader): void {
  reader.reads++;
  if (reader.isOpen) return;
  const { begin, dataVersion } = reader.statements;
  reader.isOpen = true;
  reader.timer ??= setTimeout(endPeriod, VIEW_MS, reader);
  setImmediate(endTurn, reader);
  try {
    begin.run();
    const version = dataVersion.get()?.data_version as number;
    for (const act of reader.listeners) act(version !== reader.version, reader.openedAtMs);
    // If a listener throws, the version is not stored, and the next view calls all listeners again.
    reader.version = version;
  } catch (error) {
    endView(reader);
    throw error;
  }
}

function endTurn(reader: Reader): void {
  if (!reader.isBusy) endView(reader);
}

function endPeriod(reader: Reader): void {
  reader.isOpen = false;
  endTransaction(reader);
  reader.isBusy = reader.reads > BUSY_READS;
  // If the transaction could not be ended, the timer continues even without reads, to try again.
  const continuation = reader.reads > 0 || reader.sqlite.inTransaction;
  reader.timer = continuation ? setTimeout(endPeriod, VIEW_MS, reader) : null;
  reader.reads = 0;
}

/** Ends the transaction, unless a failed read has already ended it. A failure is reported and retried later. */
function endTransaction({ sqlite, statements, report }: Reader): void {
  try {
    if (sqlite.inTransaction) statements.rollback.run();
  } catch (cause) {
    report('A view of the database could not be ended; the server will try again.', cause);
  }
}
