import { openBeside, type Sqlite } from './open.ts';

/**
 * The server's connection for reading. It reads in views: a view is one read transaction, so that its requests share the
 * cost of SQLite's locks (3 µs, as much as a lookup). It begins with the first read and ends with the turn of the event
 * loop, or, while there is much to do, after {@link VIEW_MS}: from then on what others have committed is seen.
 */
export type Reader = {
  readonly sqlite: Sqlite;
  /** Opens a view where none is open. Before every read. Throws what SQLite does. */
  view: () => void;
  /** Before each request: ends a view that is older than {@link MAX_VIEW_MS}. `nowMs` is a monotonic clock's. */
  renew: (nowMs: number) => void;
  /** Ends the view now. */
  end: () => void;
  /** Has a function called at the beginning of each view that sees more than the one before, inside it. */
  onCommit: (act: () => void) => void;
  close: () => void;
};

/** How long a view lasts while there is much to do. */
const VIEW_MS = 2;

/** So many reads in {@link VIEW_MS} are much: a turn has about three requests then. */
const MUCH = 32;

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

/** Opens it on a main database that is there and current. Throws `refused` for any other, and `busy`. */
export function openReader(databasePath: string): Reader {
  const sqlite = openBeside(databasePath, BUSY_TIMEOUT_MS);
  sqlite.run('PRAGMA query_only = ON');
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  const begin = sqlite.prepare('BEGIN');
  const commit = sqlite.prepare('COMMIT');
  // The number moves with every commit of another connection, and only between transactions.
  const dataVersion = sqlite.prepare<{ data_version: number }, []>('PRAGMA data_version');
  const listeners: (() => void)[] = [];
  let version = -1;
  let isOpen = false;
  let openedAtMs = 0;
  let reads = 0;
  let isBusy = false;
  let timer: Timer | null = null;

  function end(): void {
    if (!isOpen) return;
    isOpen = false;
    // A fault may have rolled it back already.
    if (sqlite.inTransaction) commit.run();
  }

  function endTurn(): void {
    if (!isBusy) end();
  }

  function endPeriod(): void {
    end();
    isBusy = reads > MUCH;
    timer = reads > 0 ? setTimeout(endPeriod, VIEW_MS) : null;
    reads = 0;
  }

  function view(): void {
    reads++;
    if (isOpen) return;
    begin.run();
    isOpen = true;
    try {
      const seen = dataVersion.get()?.data_version as number;
      if (seen !== version) for (const act of listeners) act();
      // Where one of them has failed, all are called again.
      version = seen;
    } catch (error) {
      end();
      throw error;
    }
    timer ??= setTimeout(endPeriod, VIEW_MS);
    setImmediate(endTurn);
  }

  return {
    sqlite,
    view,
    renew: (nowMs) => {
      if (isOpen && nowMs - openedAtMs > MAX_VIEW_MS) end();
      if (!isOpen) openedAtMs = nowMs;
    },
    end,
    onCommit: (act) => void listeners.push(act),
    close: () => {
      if (timer !== null) clearTimeout(timer);
      end();
      sqlite.close();
    },
  };
}
