import { statSync } from 'node:fs';
import { leaveLogAlone, type Sqlite, withBusyTimeout } from '../db/connect.ts';
import { realPath } from '../db/real-path.ts';

// The write-ahead log. The server's connections never copy it into the database (`leaveLogAlone`); a command that the server
// starts as a child does.

/** A log of this length is checkpointed, so that a page changed by many transactions is copied only once. */
export const MAX_LOG_BYTES = 16_777_216;

/** The length of the log of a database; 0 if there is none. */
export function logBytes(databasePath: string): number {
  return statSync(`${realPath(databasePath)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Copies the log into the database and empties it, for which it waits up to `waitMs` milliseconds for readers. Nobody can
 * write while it waits. Returns false if readers or a writer took longer.
 */
export function emptyLog(sqlite: Sqlite, waitMs: number): boolean {
  // A passive checkpoint copies most pages without holding anybody up, so that the rest is short.
  sqlite.run('PRAGMA wal_checkpoint(PASSIVE)');
  const truncate = () => sqlite.query('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
  return withBusyTimeout(sqlite, waitMs, truncate).busy === 0;
}

/** Writes of an import are spread over all indexes. This cache holds their pages, so that not every batch reads them again. */
const CACHE_KIB = 32_768;

/** How long an import waits for readers. */
const MAX_WAIT_MS = 50;

/**
 * Prepares the connection of a command for writing a lot. Returns a function that empties the log if it has grown long, to be
 * called after each transaction: automatic checkpoints never start it anew while there is always some reader.
 */
export function keepLogShort(sqlite: Sqlite): () => void {
  const { wal_autocheckpoint: pages } = sqlite.query('PRAGMA wal_autocheckpoint').get() as Record<string, number>;
  if (pages === 0) return () => {};
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  leaveLogAlone(sqlite);
  let maxBytes = MAX_LOG_BYTES;
  return () => {
    const bytes = logBytes(sqlite.filename);
    if (bytes < maxBytes) return;
    // A long reader, such as a backup, must not cause a wait after every transaction.
    maxBytes = bytes + MAX_LOG_BYTES;
    try {
      if (emptyLog(sqlite, MAX_WAIT_MS)) maxBytes = MAX_LOG_BYTES;
    } catch {
      // Everything is committed in the log. If the disk is full or broken, the next write reports it.
    }
  };
}
