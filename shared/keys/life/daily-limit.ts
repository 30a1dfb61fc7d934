import { and, eq, gte, lt, ne, sql } from 'drizzle-orm';
import { DAY_MS, isoTime } from '../../clock.ts';
import type { Tx } from '../../db/connect.ts';
import { events } from '../../db/schema/events.ts';
import { AppError } from '../../errors.ts';
import type { Owner } from '../record.ts';

/** How many keys a profile may request on one day (UTC), and how often its keys may be renamed. */
export const MAX_PER_DAY = 5;

const DONE = {
  requested: (times: number) => `requested ${times} keys`,
  edited: (times: number) => `renamed keys ${times} times`,
} as const;

/**
 * Throws `too_many_requests`, with the seconds until the next day, if a profile has reached this limit today; it exists because
 * each time sends a mail. Actions of the operator do not count. Call it in the transaction that acts.
 */
export function refuseManyToday(
  tx: Tx,
  owner: Pick<Owner, 'id' | 'username'>,
  event: keyof typeof DONE,
  nowMs: number,
): void {
  const todayMs = nowMs - (nowMs % DAY_MS);
  const tomorrowMs = todayMs + DAY_MS;
  const done = tx
    .select({ count: sql<number>`count(*)` })
    .from(events)
    .where(
      and(
        eq(events.profileId, owner.id),
        eq(events.subject, 'key'),
        eq(events.event, event),
        ne(events.byKind, 'operator'),
        gte(events.at, todayMs),
        lt(events.at, tomorrowMs),
      ),
    )
    .get();
  if ((done?.count ?? 0) < MAX_PER_DAY) return;
  throw new AppError(
    'too_many_requests',
    `The profile ${owner.username} has ${DONE[event](MAX_PER_DAY)} today, which is the daily limit. Try again after ${isoTime(tomorrowMs)}.`,
    { retryAfterSeconds: Math.ceil((tomorrowMs - nowMs) / 1000) },
  );
}
