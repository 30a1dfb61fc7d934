import { and, gt, lte, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/** How far a stored time may be ahead of the clock, in milliseconds: clocks are set back by seconds now and then. */
export const MAX_BACK_MS = 60_000;

/** When something begins and ceases to work: two columns of a table, or expressions of them. */
export type Life = { begunAt: SQLWrapper; until: SQLWrapper };

/**
 * Whether something works now: it has not expired, and does not begin more than a minute in the future. If it does, the
 * clock was set back, which must not extend any period.
 */
export function isLive({ begunAt, until }: Life, nowMs: number | Placeholder): SQL {
  return sql`${and(gt(until, nowMs), lte(begunAt, sql`${nowMs} + ${MAX_BACK_MS}`))}`;
}
