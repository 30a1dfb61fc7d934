import type { Opened, Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';

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

/**
 * Checkpoints the write-ahead log into the database and truncates it, so that no erased data is left in it. Returns
 * null; or a sentence if other connections used the log for the whole busy timeout, in which case the last connection
 * to close empties it.
 */
export function emptyLog(db: Opened): string | null {
  const path = db.$client.filename;
  if (!guardDatabase(path, () => checkpoint(db.$client, 'TRUNCATE')).isBusy) return null;
  return `Other processes are reading ${path}, so erased data is still in its write-ahead log until the next checkpoint, or until the server stops.`;
}
