import type { Opened, Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';

/**
 * Moves the content of the write-ahead log into the file, as far as readers allow: TRUNCATE waits for them and then
 * empties the log. Returns whether others kept it from finishing, and the pages in the log. Throws SQLite's errors.
 */
export function checkpoint(
  sqlite: Sqlite,
  mode: 'NOOP' | 'PASSIVE' | 'RESTART' | 'TRUNCATE',
): { isBusy: boolean; pages: number } {
  const row = sqlite.query(`PRAGMA wal_checkpoint(${mode})`).get() as { busy: number; log: number };
  return { isBusy: row.busy !== 0, pages: row.log };
}

/**
 * Checkpoints the write-ahead log into the database and truncates it, so that it holds nothing of what was erased.
 * Returns null; or a sentence if other connections used the log for as long as this connection waits, in which case the
 * last of them to close empties it.
 */
export function emptyLog(db: Opened): string | null {
  const path = db.$client.filename;
  if (!guardDatabase(path, () => checkpoint(db.$client, 'TRUNCATE')).isBusy) return null;
  return `Others are reading ${path}, so what was erased is still in its write-ahead log; it goes with the next checkpoint, or when the server stops.`;
}
