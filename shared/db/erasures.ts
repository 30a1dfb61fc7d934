import type { Sqlite } from './connect.ts';
import { prepareWrite } from './write.ts';

// SQLite overwrites what is deleted (secure_delete), but not the copies of rows that its balancing of pages left earlier in
// unused parts of other pages. Only a VACUUM writes a file without them. So each transaction that erases profiles leaves a
// row here, which says that a VACUUM is due. Texts that were replaced and not erased need none of their own: the VACUUM
// after their profile's erasure takes them too.

/** What waits for a VACUUM, times in milliseconds since 1970. */
export type Erasures = {
  /** The latest erasing transaction that the database knows of; 0 where there was none. */
  lastSeq: number;
  /** When the first erasure was that no VACUUM has covered yet; null where there is none. */
  tracesSinceMs: number | null;
  /** When a VACUUM last covered an erasure; null where that never was. */
  vacuumedAtMs: number | null;
};

/** Notes, in the transaction that erases profiles, that copies of their texts may be left in the file. */
export function noteErasure(sqlite: Sqlite, nowMs: number): void {
  sqlite.query('INSERT INTO erasures (at) VALUES (?)').run(nowMs);
}

/** Reads what waits. Throws what SQLite does. */
export function readErasures(sqlite: Sqlite): Erasures {
  return sqlite
    .query(
      `SELECT coalesce(max(seq), 0) AS lastSeq, max(vacuumed_at) AS vacuumedAtMs,
         min(iif(vacuumed_at IS NULL, at, NULL)) AS tracesSinceMs FROM erasures`,
    )
    .get() as Erasures;
}

/** Notes that a VACUUM, which began when `lastSeq` was the latest erasure, has removed all copies up to that one. */
export function noteVacuum(sqlite: Sqlite, lastSeq: number, nowMs: number): void {
  prepareWrite(sqlite, () => {
    sqlite.query('DELETE FROM erasures WHERE seq < ?').run(lastSeq);
    sqlite.query('UPDATE erasures SET vacuumed_at = ? WHERE seq = ?').run(nowMs, lastSeq);
  })();
}
