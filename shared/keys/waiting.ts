import { and, count, desc, eq, gt, inArray, lt, max, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys, keyEvents } from '../db/schema/keys.ts';
import type { Deps } from '../deps.ts';
import type { Reader } from './view.ts';

// What owners of pending requests are shown: how many requests are ahead, and how long they usually wait.

const olderThan = keepQuery((db) => {
  const { identifier, requestedAt, state } = apiKeys;
  const own = db
    .select({ requestedAt })
    .from(apiKeys)
    .where(eq(identifier, sql.placeholder('identifier')));
  return db
    .select({ count: count() })
    .from(apiKeys)
    .where(and(eq(state, 'pending').inlineParams(), lt(requestedAt, own)))
    .prepare();
});

/** How many pending requests are older than this one. */
export function countOlder({ db }: Pick<Reader, 'db'>, identifier: string): number {
  return olderThan(db).get({ identifier })?.count ?? 0;
}

const DECISIONS = { max: 20, min: 5 } as const;

/** How many of the latest events of all keys are searched for decisions, so that the cost of a page is bounded. */
const LATEST_EVENTS = 2_000;

/** Measuring took a quarter of the start page's time. */
const CACHE_MS = 60_000;

const CACHE = new WeakMap<Deps['db'], { days: number | null; untilMs: number }>();

/**
 * How long a request usually waits: the median of the latest 20 that were approved or rejected, in whole days, at least 1. Null
 * until five were decided. Cached for a minute.
 */
export function usualWaitDays({ db, clock }: Pick<Deps, 'db' | 'clock'>): number | null {
  const now = clock.monotonicMs();
  const known = CACHE.get(db);
  if (known !== undefined && now < known.untilMs) return known.days;
  const days = measureWait(db);
  CACHE.set(db, { days, untilMs: now + CACHE_MS });
  return days;
}

function measureWait(db: Deps['db']): number | null {
  const { id, at, identifier, event } = keyEvents;
  const newest = db.select({ id: max(id) }).from(keyEvents);
  const waits = db
    .select({ requestedAt: apiKeys.requestedAt, decidedAt: at })
    .from(keyEvents)
    .innerJoin(apiKeys, eq(apiKeys.identifier, identifier))
    .where(and(gt(id, sql`${newest} - ${LATEST_EVENTS}`), inArray(event, ['approved', 'rejected'])))
    .orderBy(desc(id))
    .limit(DECISIONS.max)
    .all()
    .map(({ requestedAt, decidedAt }) => decidedAt - requestedAt)
    .sort((one, other) => one - other);
  if (waits.length < DECISIONS.min) return null;
  const [low, high] = [waits[(waits.length - 1) >> 1], waits[waits.length >> 1]] as [number, number];
  return Math.max(1, Math.round((low + high) / 2 / DAY_MS));
}

/** The usual wait in words, such as `in 2 days`. Never in hours, which would sound like a promise. */
export function usualWaitText(days: number): string {
  return days === 1 ? 'within a day' : `in ${days} days`;
}
