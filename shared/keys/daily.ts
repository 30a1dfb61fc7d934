import { and, eq, gte, lt, ne, sql } from 'drizzle-orm';
import { DAY_MS, isoTime } from '../clock.ts';
import type { Tx } from '../db/connect.ts';
import { apiKeys, keyEvents } from '../db/schema/keys.ts';
import { AppError } from '../errors.ts';
import type { Owner } from './record.ts';

/** How many keys may be asked for in the name of one profile on one day (UTC). */
export const REQUESTS_PER_DAY = 5;

/**
 * Throws `too_many_requests`, with the seconds until the next day, where so many keys were asked for in this profile's
 * name today. What the operator asked for does not count. For the transaction that stores the next request.
 */
export function refuseManyToday(tx: Tx, owner: Owner, nowMs: number): void {
  const todayMs = nowMs - (nowMs % DAY_MS);
  const tomorrowMs = todayMs + DAY_MS;
  const asked = tx
    .select({ count: sql<number>`count(*)` })
    .from(apiKeys)
    .innerJoin(keyEvents, eq(keyEvents.identifier, apiKeys.identifier))
    .where(
      and(
        eq(apiKeys.profileId, owner.id),
        eq(keyEvents.event, 'requested'),
        ne(keyEvents.byKind, 'operator'),
        gte(keyEvents.at, todayMs),
        lt(keyEvents.at, tomorrowMs),
      ),
    )
    .get();
  if ((asked?.count ?? 0) < REQUESTS_PER_DAY) return;
  throw new AppError(
    'too_many_requests',
    `The profile ${owner.username} has asked for ${REQUESTS_PER_DAY} keys today, which is all that it may in one day. Ask again after ${isoTime(tomorrowMs)}.`,
    { retryAfterSeconds: Math.ceil((tomorrowMs - nowMs) / 1000) },
  );
}
