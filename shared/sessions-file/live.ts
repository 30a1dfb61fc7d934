import { and, gt, lte, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/** How far a stored time may lie ahead of the clock, in milliseconds: machines' clocks are set back by seconds now and then. */
export const MAX_BACK_MS = 60_000;

/** From when on, and until when, something works: two columns of a table, or what is computed of them. */
export type Life = { begunAt: SQLWrapper; until: SQLWrapper };

/**
 * Whether something works now: it does not any more, and not either where its beginning lies more than a minute ahead. Then the
 * clock was set back, and nothing may live longer than its period because of that.
 */
export function isLive({ begunAt, until }: Life, nowMs: number | Placeholder): SQL {
  return sql`${and(gt(until, nowMs), lte(begunAt, sql`${nowMs} + ${MAX_BACK_MS}`))}`;
}
