import { DAY_MS } from '../clock.ts';
import type { Sqlite } from './connect.ts';

/** Single facts that belong to the database. */
type FactName = 'vacuum wanted' | 'last backup' | 'last import' | 'last feed' | 'sign-in mails held back at';

/** Reads a fact; null if it is not stored. */
export function readFact(sqlite: Sqlite, name: FactName): string | null {
  const row = sqlite.query<{ value: string }, [string]>('SELECT value FROM facts WHERE name = ?').get(name);
  return row?.value ?? null;
}

/** Stores a fact inside the caller's transaction. */
export function storeFact(sqlite: Sqlite, name: FactName, value: string): void {
  sqlite
    .query('INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
    .run(name, value);
}

/**
 * Records that a VACUUM is wanted. Call inside the transaction that erases profiles: SQLite overwrites deleted rows
 * (secure_delete), but when it moved rows between pages earlier, it may have left copies in unused parts of other pages, and
 * only a VACUUM writes a file without them.
 */
export function noteErasure(sqlite: Sqlite): void {
  // Another value each time, so that a VACUUM that runs meanwhile does not count for this erasure.
  storeFact(sqlite, 'vacuum wanted', crypto.randomUUID());
}

/** How long the id of an erased profile is kept. An import is refused if its data was read longer ago (`readAsOf`). */
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
