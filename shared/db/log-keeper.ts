import type { Sqlite } from './connect.ts';

/** Folds the write-ahead log into the database between the transactions of a long writer. */
export type LogKeeper = {
  /** Folds the log in where it has grown long; call it after each transaction. */
  afterWrite: () => void;
  /** Folds in what is left and hands the log back to SQLite's own care. */
  end: () => void;
};

/** Folded in when it has so many pages (16 MiB): a page that many transactions change is then written once for all. */
const MAX_LOG_PAGES = 4_000;

/** The longest that beginning the log anew waits for readers, milliseconds; nobody can write meanwhile. */
const MAX_WAIT_MS = 50;

/**
 * Takes the log of a connection that writes very much into its care. SQLite's own way would fold it in after nearly
 * every large transaction, and never begin it anew while readers take turns, so that it grew as long as the import.
 */
export function keepLogShort(sqlite: Sqlite): LogKeeper {
  const pragma = (text: string) => sqlite.query(`PRAGMA ${text}`).get() as Record<string, number>;
  const { wal_autocheckpoint: pages = 1000 } = pragma('wal_autocheckpoint');
  const { timeout } = pragma('busy_timeout');
  let foldAt = MAX_LOG_PAGES;
  sqlite.run('PRAGMA wal_autocheckpoint = 0');

  function fold(): void {
    let left = 0;
    try {
      // The bulk goes without any lock that others want; what waits for readers has then little left to do.
      pragma('wal_checkpoint(PASSIVE)');
      sqlite.run(`PRAGMA busy_timeout = ${MAX_WAIT_MS}`);
      const { busy, log = 0 } = pragma('wal_checkpoint(RESTART)');
      if (busy !== 0) left = log;
    } catch {
      // All is committed in the log, and on a full or broken disk the next write says so.
      left = foldAt;
    } finally {
      sqlite.run(`PRAGMA busy_timeout = ${timeout}`);
    }
    // A reader that stays, such as a backup, is not waited for after every transaction.
    foldAt = left + MAX_LOG_PAGES;
  }

  function pagesInLog(): number {
    try {
      return pragma('wal_checkpoint(NOOP)').log ?? 0;
    } catch {
      // On a disk that can't be used; whoever writes next says so.
      return 0;
    }
  }

  return {
    afterWrite: () => {
      if (pagesInLog() >= foldAt) fold();
    },
    end: () => {
      if (pagesInLog() >= pages) fold();
      sqlite.run(`PRAGMA wal_autocheckpoint = ${pages}`);
    },
  };
}
