import { withBusyTimeout } from '../db/busy-timeout.ts';
import type { Sqlite } from '../db/connect.ts';

/**
 * Checkpoints the write-ahead log into the database, as far as readers allow: TRUNCATE waits for them and then empties
 * the log. Returns whether others prevented it from finishing, and the number of pages in the log.
 */
export function checkpoint(
  sqlite: Sqlite,
  mode: 'NOOP' | 'PASSIVE' | 'RESTART' | 'TRUNCATE',
): { isBusy: boolean; pages: number } {
  const row = sqlite.query(`PRAGMA wal_checkpoint(${mode})`).get() as { busy: number; log: number };
  return { isBusy: row.busy !== 0, pages: row.log };
}

/** Checkpoints the write-ahead log between the transactions of a long writer, such as an import. */
export type LogKeeper = {
  /** Checkpoints if the log has grown long; call it after each transaction. */
  afterWrite: () => void;
  end: () => void;
};

/**
 * The log is checkpointed at this many pages (16 MiB), so that a page changed by many transactions is copied only once.
 */
const MAX_LOG_PAGES = 4_000;

/** How long a checkpoint waits for readers before it restarts the log. Nobody can write in the meantime. */
const MAX_WAIT_MS = 50;

/** Writes are spread over all indexes. This cache holds their pages, so that not every batch reads them again. */
const CACHE_KIB = 32_768;

/**
 * Prepares a connection for writing a lot: with a larger cache, and without SQLite's automatic checkpoints. These would
 * run after nearly every large transaction, and never restart the log while there is always some reader, so the log
 * would grow for the whole import.
 */
export function keepLogShort(sqlite: Sqlite): LogKeeper {
  const { wal_autocheckpoint: pages } = sqlite.query('PRAGMA wal_autocheckpoint').get() as {
    wal_autocheckpoint: number;
  };
  let checkpointAt = MAX_LOG_PAGES;
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  sqlite.run('PRAGMA wal_autocheckpoint = 0');

  function checkpointLog(): void {
    let left = 0;
    try {
      // A passive checkpoint copies most pages without blocking others, so that the restart, which waits for readers,
      // is short.
      checkpoint(sqlite, 'PASSIVE');
      const { isBusy, pages } = withBusyTimeout(sqlite, MAX_WAIT_MS, () => checkpoint(sqlite, 'RESTART'));
      if (isBusy) left = pages;
    } catch {
      // Everything is committed in the log. If the disk is full or broken, the next write reports it.
      left = checkpointAt;
    }
    // A long reader, such as a backup, must not cause a wait after every transaction.
    checkpointAt = left + MAX_LOG_PAGES;
  }

  function pagesInLog(): number {
    try {
      return checkpoint(sqlite, 'NOOP').pages;
    } catch {
      // The disk can't be used; the next write reports the error.
      return 0;
    }
  }

  return {
    afterWrite: () => {
      if (pagesInLog() >= checkpointAt) checkpointLog();
    },
    end: () => {
      if (pagesInLog() >= pages) checkpointLog();
      sqlite.run(`PRAGMA wal_autocheckpoint = ${pages}`);
    },
  };
}
