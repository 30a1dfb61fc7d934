import { AppError } from '../errors.ts';
import type { Sqlite } from './connect.ts';
import { databaseFault } from './faults.ts';
import { openBeside } from './open.ts';

/**
 * The server's connection for reading. It reads in views: a view is one read transaction, so that its requests share the
 * cost of SQLite's locks (3 µs, as much as a lookup). A view begins with the first read and ends with the turn of the
 * event loop, or, while there is much to do, after {@link VIEW_MS}: what others have committed is seen from then on. Only
 * the functions of this file change a reader.
 */
export type Reader = {
  readonly sqlite: Sqlite;
  /** Tells the operator of a fault that no request is answered with. */
  readonly report: ReportFault;
  readonly statements: ReturnType<typeof prepareStatements>;
  /** Called at the beginning of each view. */
  readonly listeners: OnView[];
  /** The value of `PRAGMA data_version` that all listeners have been told of; -1 before the first view. */
  version: number;
  isOpen: boolean;
  /** Since when the view is open, in milliseconds of the monotonic clock that {@link renewView} is given. */
  openedAtMs: number;
  /** How many reads there were since the period began. */
  reads: number;
  /** Whether views last for {@link VIEW_MS}; else they end with the turn of the event loop. */
  isBusy: boolean;
  /** Ends the period; null while nobody reads. */
  timer: Timer | null;
};

/** Takes a sentence for the operator's log, and the fault that it tells of. */
export type ReportFault = (sentence: string, cause: unknown) => void;

/**
 * Is told whether the view sees more commits than the one before, and of what time it is: milliseconds of the monotonic
 * clock that {@link renewView} is given.
 */
export type OnView = (hasCommits: boolean, nowMs: number) => void;

/** How long a view lasts while there is much to do, and how often is counted whether there is. */
const VIEW_MS = 2;

/** With more reads than these in {@link VIEW_MS} a turn of the event loop has about three requests. */
const BUSY_READS = 32;

/** A turn may be long and timers late: no request begins in a view as old as this. Well below 10 ms, when a change holds. */
const MAX_VIEW_MS = 5;

/** How long the connection waits for a lock, which stops readers hardly ever. */
const BUSY_TIMEOUT_MS = 300;

/**
 * Pages that are kept, KiB: the inner pages of a few million profiles. With more a lookup is no faster: a page that comes
 * from the system's cache into memory that is still in the processor's costs as little. Mapping the file (mmap_size) counts
 * as memory of the process, and a fault of the disk would kill it.
 */
const CACHE_KIB = 8_192;

/** Opens a reader on a main database that is there and current. Throws `refused` for any other, and `busy`. */
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
    // Takes as long as COMMIT and has nothing to undo, but works after a failed read too, where COMMIT fails.
    rollback: sqlite.prepare('ROLLBACK'),
    // The number moves with every commit of another connection, and only between transactions.
    dataVersion: sqlite.prepare<{ data_version: number }, []>('PRAGMA data_version'),
  };
}

/** Has a function called at the beginning of each view, inside that view. */
export function onView(reader: Reader, act: OnView): void {
  reader.listeners.push(act);
}

/** Has a function called at the beginning of each view that sees more than the one before, inside that view. */
export function onCommit(reader: Reader, act: () => void): void {
  onView(reader, (hasCommits) => {
    if (hasCommits) act();
  });
}

/**
 * Runs a function that reads, in the view that is open or in a new one, and returns what it returns. After a fault of
 * SQLite the view is ended, so that the next read begins anew. Throws the function's AppErrors as they are, `busy` for a
 * lock, `refused` for a file that can't be read.
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

/** Before each request: ends a view that is older than {@link MAX_VIEW_MS}. `nowMs` is a monotonic clock's. */
export function renewView(reader: Reader, nowMs: number): void {
  if (reader.isOpen && nowMs - reader.openedAtMs > MAX_VIEW_MS) endView(reader);
  if (!reader.isOpen) reader.openedAtMs = nowMs;
}

/** Ends the view that is open, where one is. Throws nothing. */
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

/** Opens a view where none is open, and calls the listeners. Throws what SQLite does. */
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
    // Where a listener has failed, the version stays as it was, so that the next view calls all of them again.
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
  // A transaction that could not be ended is ended by a later period, though nobody reads any more.
  const goesOn = reader.reads > 0 || reader.sqlite.inTransaction;
  reader.timer = goesOn ? setTimeout(endPeriod, VIEW_MS, reader) : null;
  reader.reads = 0;
}

/** Ends the transaction, where a failed read has not ended it already. What goes wrong is reported, and tried again. */
function endTransaction({ sqlite, statements, report }: Reader): void {
  try {
    if (sqlite.inTransaction) statements.rollback.run();
  } catch (cause) {
    report('A view of the database could not be ended; it is tried again.', cause);
  }
}
