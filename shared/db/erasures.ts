import type { Sqlite } from './connect.ts';
import { prepareWrite } from './write.ts';

// SQLite overwrites deleted rows (secure_delete), but moving rows between pages may have left older copies in unused
// parts of other pages. Only a VACUUM writes a file without these copies. So each transaction that erases profiles adds
// a row to `erasures`, which says that a VACUUM is due. Texts that were replaced, not erased, need no row: the VACUUM
// after their profile's erasure removes their copies too.

/** Which erasures wait for a VACUUM. Times are milliseconds since 1970. */
export type Erasures = {
  /** The number of the latest transaction that erased profiles; 0 if there was none. */
  lastSeq: number;
  /** When the first erasure after the last VACUUM was made; null if there is none. */
  tracesSinceMs: number | null;
  /** When a VACUUM last removed the copies of an erasure; null if that never happened. */
  vacuumedAtMs: number | null;
};

/** Records that copies of erased texts may be left in the file. Call inside the transaction that erases profiles. */
export function noteErasure(sqlite: Sqlite, nowMs: number): void {
  sqlite.query('INSERT INTO erasures (at) VALUES (?)').run(nowMs);
}

/** Reads which erasures wait for a VACUUM. Throws SQLite's errors. */
export function readErasures(sqlite: Sqlite): Erasures {
  return sqlite
    .query(
      `SELECT coalesce(max(seq), 0) AS lastSeq, max(vacuumed_at) AS vacuumedAtMs,
         min(iif(vacuumed_at IS NULL, at, NULL)) AS tracesSinceMs FROM erasures`,
    )
    .get() as Erasures;
}

/**
 * Records that a VACUUM, begun when `lastSeq` was the latest erasure, has removed the copies of all erasures up to that
 * one.
 */
export function noteVacuum(sqlite: Sqlite, lastSeq: number, nowMs: number): void {
  prepareWrite(sqlite, () => {
    sqlite.query('DELETE FROM erasures WHERE seq < ?').run(lastSeq);
    sqlite.query('UPDATE erasures SET vacuumed_at = ? WHERE seq = ?').run(nowMs, lastSeq);
  })();
}
