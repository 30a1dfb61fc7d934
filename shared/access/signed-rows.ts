import type { Opened, Sqlite } from '../db/connect.ts';
import type { Access } from './access.ts';
import { readAdminGeneration } from './admin-binding.ts';
import { isStillBound } from './binding.ts';
import { isPlatformToken } from './platform-token-row.ts';
import { type Periods, personsRows, type Rows, SHOWN_AFTER_END_MS, type Signed, type Value } from './session-row.ts';
import { flushSessions, writeSessions } from './sessions-file.ts';

// What sessions and people's tokens have in common: both are rows that belong to somebody, have a last use, and end. Functions
// throw `busy` where a lock is held for too long, and `refused` where a file can't be read or written.

/** A table of such rows: its name, the column that names a row, and how long its rows live. */
export type SignedTable = { name: 'sessions' | 'person_tokens'; key: 'id' | 'identifier'; periods: Periods };

/** The last use is written when the one that is stored is so old. */
const USE_STEP_MS = 60_000;

/** Whether the person to whom something was bound is still the same, and the platform's token that opened it is there. */
export function isStillSigned({ db }: { db: Opened }, signed: Signed): boolean {
  if (signed.kind === 'admin') return readAdminGeneration(db, signed.name) === signed.generation;
  return isStillBound(db, signed) && (signed.openedBy === null || isPlatformToken(db, signed.openedBy));
}

/**
 * Notes that a row was used now, which last was at `lastUsedAtMs`. Writes at most once a minute, and nothing while the clock is
 * not settled: with a time that lies ahead the row would not be alive once the clock is right again.
 */
export function noteUseIn(
  { sessions, clock }: Access,
  { name, key }: SignedTable,
  which: string | number,
  lastUsedAtMs: number,
): void {
  const seenMs = clock.settledMs();
  if (seenMs === null || Math.abs(seenMs - lastUsedAtMs) < USE_STEP_MS) return;
  writeSessions(sessions, (sqlite) => {
    const settledMs = clock.settledMs();
    if (settledMs === null) return;
    sqlite
      .query(`UPDATE ${name} SET last_used_at = ? WHERE ${key} = ? AND ended_at IS NULL AND abs(? - last_used_at) >= ?`)
      .run(settledMs, which, settledMs, USE_STEP_MS);
  });
}

/** Ends one of the person's rows. Returns whether it was alive: one whose time was over before ended then. */
export function endOne(
  { sessions, clock }: Access,
  table: SignedTable,
  signed: Signed,
  which: string | number,
): boolean {
  const ended = writeSessions(sessions, (sqlite) => endOneRow(sqlite, table, signed, which, clock.nowMs()));
  flushSessions(sessions);
  return ended;
}

/** Does what {@link endOne} does, inside a transaction of the caller, who flushes what is written. */
export function endOneRow(
  sqlite: Sqlite,
  table: SignedTable,
  signed: Signed,
  which: string | number,
  nowMs: number,
): boolean {
  const { sql, values } = personsRows(signed);
  const rows = { sql: `${sql} AND ${table.key} = ?`, values: [...values, which] };
  return endRows(sqlite, table, signed.kind, { rows, nowMs }) > 0;
}

/**
 * Ends these rows, which belong to owners or to admins, inside a transaction of the caller, who flushes what is written.
 * Returns how many of them, or of those that are among `counted` too, were alive.
 */
export function endRows(
  sqlite: Sqlite,
  { name, periods }: SignedTable,
  kind: Signed['kind'],
  { rows, counted = rows, nowMs }: { rows: Rows; counted?: Rows; nowMs: number },
): number {
  const { idleMs, mostMs } = periods[kind];
  return sqlite
    .query<{ wasAlive: number }, Value[]>(
      `UPDATE ${name} SET ended_at = min(?, last_used_at + ?, started_at + ?) WHERE ended_at IS NULL AND ${rows.sql}
         RETURNING ended_at = ? AND ${counted.sql} AS wasAlive`,
    )
    .all(nowMs, idleMs, mostMs, ...rows.values, nowMs, ...counted.values)
    .filter(({ wasAlive }) => wasAlive === 1).length;
}

/**
 * Deletes the rows that ended, or whose time was over, more than 30 days ago, inside a transaction of the caller; none
 * while the clock is not settled.
 */
export function dropOver(sqlite: Sqlite, { name, periods }: SignedTable, settledMs: number | null): void {
  if (settledMs === null) return;
  const over = settledMs - SHOWN_AFTER_END_MS;
  sqlite.query(`DELETE FROM ${name} WHERE ended_at <= ?`).run(over);
  for (const [kind, { idleMs, mostMs }] of Object.entries(periods)) {
    sqlite
      .query(
        `DELETE FROM ${name} WHERE admin IS ${kind === 'admin' ? 'NOT NULL' : 'NULL'}
           AND (last_used_at <= ? OR started_at <= ?)`,
      )
      .run(over - idleMs, over - mostMs);
  }
}
