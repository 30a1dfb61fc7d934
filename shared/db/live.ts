import { and, gt, lte, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { MAX_BACK_MS } from '../clock.ts';

/** When something starts and stops being valid: two columns of a table, or expressions of them. */
export type Life = { begunAt: SQLWrapper; until: SQLWrapper };

/** `isLiveAt` of `shared/clock.ts` as an SQL condition. */
export function isLive({ begunAt, until }: Life, nowMs: number | Placeholder, maxAheadMs: number = MAX_BACK_MS): SQL {
  return sql`${and(gt(until, nowMs), lte(begunAt, sql`${nowMs} + ${maxAheadMs}`))}`;
}

/** Whether something is postponed until a time that was stored at most `spanMs` earlier; by the same rule. */
export function isPostponed(until: SQLWrapper, spanMs: number, nowMs: number | Placeholder): SQL {
  return isLive({ begunAt: until, until }, nowMs, spanMs);
}
