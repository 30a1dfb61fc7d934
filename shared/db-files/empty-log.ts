import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';

/**
 * Checkpoints the write-ahead log into the database and truncates it, so that it holds nothing of what was erased.
 * Returns null; or a sentence if other connections used the log for as long as this connection waits, in which case the
 * last of them to close empties it.
 */
export function emptyLog(db: Opened): string | null {
  const path = db.$client.filename;
  const done = guardDatabase(path, () => db.$client.query('PRAGMA wal_checkpoint(TRUNCATE)').get()) as { busy: number };
  if (done.busy === 0) return null;
  return `Others are reading ${path}, so what was erased is still in its write-ahead log; it goes with the next checkpoint, or when the server stops.`;
}
