import { type Clock, DAY_MS } from '../clock.ts';
import type { Sqlite } from './connect.ts';
import { prepareWrite } from './write.ts';

// SQLite overwrites deleted rows (secure_delete), but when it moved rows between pages earlier, it may have left copies
// in unused parts of other pages. Only a VACUUM writes a file without these copies. So each transaction that erases
// profiles adds a row to `erasures`, which says that a VACUUM is due. Replaced texts need no row: the VACUUM after
// their profile's erasure removes their copies too.

/** Which erasures still need a VACUUM. */
export type Erasures = {
  /** The number of the latest transaction that erased profiles; 0 if there was none. */
  lastSeq: number;
  /** The time of the first erasure since the last VACUUM; null if there is none. */
  tracesSinceMs: number | null;
  /** When a VACUUM last removed the copies of an erasure; null if never. */
  vacuumedAtMs: number | null;
};

/** Records that copies of erased text may be left in the file. Call inside the transaction that erases profiles. */
export function noteErasure(sqlite: Sqlite, nowMs: number): void {
  sqlite.query('INSERT INTO erasures (at) VALUES (?)').run(nowMs);
}

/** How long the id of an erased profile is kept. An import is refused if its data was read longer ago (as-of.ts). */
export const KEPT_AFTER_ERASURE_MS = 40 * DAY_MS;

/**
 * Records that the profile with this id was erased at `atMs`, so that importing older data does not restore it. Call
 * inside a transaction, whose time is `nowMs`. A stored time later than `nowMs` comes from a clock that was ahead, and
 * is replaced.
 */
export function noteErasedProfile(sqlite: Sqlite, id: number, { atMs, nowMs }: { atMs: number; nowMs: number }): void {
  sqlite
    .query(
      `INSERT INTO erased_profiles (id, at) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET at = iif(at > ?, excluded.at, max(at, excluded.at))`,
    )
    .run(id, atMs, nowMs);
}

/** How many rows one transaction deletes at most, because it blocks requests that write. */
const MAX_ROWS_PER_STEP = 2_000;

/** Deletes some ids of profiles that were erased more than 40 days ago. Returns whether more may be left. */
export function dropErasedProfiles(sqlite: Sqlite, nowMs: number): boolean {
  const drop = 'DELETE FROM erased_profiles WHERE id IN (SELECT id FROM erased_profiles WHERE at < ? LIMIT ?)';
  const { changes } = sqlite.query(drop).run(nowMs - KEPT_AFTER_ERASURE_MS, MAX_ROWS_PER_STEP);
  return changes === MAX_ROWS_PER_STEP;
}

/** Reads which erasures still need a VACUUM. */
export function readErasures(sqlite: Sqlite): Erasures {
  return sqlite
    .query(
      `SELECT coalesce(max(seq), 0) AS lastSeq, max(vacuumed_at) AS vacuumedAtMs,
         min(iif(vacuumed_at IS NULL, at, NULL)) AS tracesSinceMs FROM erasures`,
    )
    .get() as Erasures;
}

/** Records that a VACUUM has removed the copies of all erasures up to `lastSeq`, the latest one when it began. */
export function noteVacuum(sqlite: Sqlite, lastSeq: number, clock: Pick<Clock, 'nowMs'>): void {
  prepareWrite(sqlite, () => {
    sqlite.query('DELETE FROM erasures WHERE seq < ?').run(lastSeq);
    sqlite.query('UPDATE erasures SET vacuumed_at = ? WHERE seq = ?').run(clock.nowMs(), lastSeq);
  })();
}
