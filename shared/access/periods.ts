import type { Sqlite } from '../db/connect.ts';

/** How far a stored time may lie ahead of the clock: machines' clocks are set back by seconds now and then. */
export const MAX_BACK_MS = 60_000;

/**
 * Whether a time still lies within the period that began at `startMs`. It does not where the beginning lies more than a
 * minute ahead: then the clock was set back, and nothing may live longer than its period because of that.
 */
export function isWithin(startMs: number, lengthMs: number, nowMs: number): boolean {
  return nowMs < startMs + lengthMs && startMs <= nowMs + MAX_BACK_MS;
}

/** What {@link isWithin} says, as a condition on a column of SQL, with the values of {@link aroundNow} for its two marks. */
export function withinSql(column: string): string {
  return `${column} > ? AND ${column} <= ?`;
}

/** The values for {@link withinSql}. */
export function aroundNow(lengthMs: number, nowMs: number): [earliestMs: number, latestMs: number] {
  return [nowMs - lengthMs, nowMs + MAX_BACK_MS];
}

/** Rows that live for a period, which begins at the time in a column; `also` leaves out rows that do not meet it. */
type Dated = { table: string; column: string; lengthMs: number; also?: string; mostAheadMs?: number };

/**
 * Deletes the rows whose period has ended, and those whose beginning lies further ahead than the clock may have been set
 * back, inside a transaction of the caller. Nothing is deleted while the clock is not settled (`settledMs` is null), so
 * whoever counts or uses such rows compares their times too.
 */
export function dropPast(
  sqlite: Sqlite,
  { table, column, lengthMs, also = 'TRUE', mostAheadMs = MAX_BACK_MS }: Dated,
  settledMs: number | null,
): void {
  if (settledMs === null) return;
  sqlite
    .query(`DELETE FROM ${table} WHERE (${column} <= ? OR ${column} > ?) AND ${also}`)
    .run(settledMs - lengthMs, settledMs + mostAheadMs);
}
