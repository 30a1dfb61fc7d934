import { and, asc, count, desc, eq, gt, lt, ne, notExists, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys, keyAttempts } from '../db/schema/keys.ts';
import type { Reader } from './view.ts';

// The queue of pending requests, oldest first.

const IS_PENDING = eq(apiKeys.state, 'pending');

/** How many requests are pending. */
export function countPending({ db }: Pick<Reader, 'db'>): number {
  const row = db.select({ count: count() }).from(apiKeys).where(IS_PENDING).get();
  return row?.count ?? 0;
}

const besides = keepQuery((db) => {
  const { identifier, profileId } = apiKeys;
  const ofSame = db
    .select({ profileId })
    .from(apiKeys)
    .where(eq(identifier, sql.placeholder('identifier')));
  return db
    .select({ count: count() })
    .from(apiKeys)
    .where(and(eq(profileId, ofSame), ne(identifier, sql.placeholder('identifier'))))
    .prepare();
});

/** How many other keys the profile of a key has or had. */
export function countKeysBeside(db: Db | Tx, identifier: string): number {
  return besides(db).get({ identifier })?.count ?? 0;
}

/**
 * The pending requests before and after a key, which itself may have been decided on; null if there is none. Requests that
 * somebody is approving right now are skipped.
 */
export function neighbours(reader: Reader, identifier: string): { previous: string | null; next: string | null } {
  return { previous: neighbour(reader, identifier, 'before'), next: neighbour(reader, identifier, 'after') };
}

function neighbour({ db, clock }: Reader, own: string, side: 'before' | 'after'): string | null {
  const isOpen = eq(keyAttempts.result, 'open').inlineParams();
  const approving = db
    .select({ number: keyAttempts.number })
    .from(keyAttempts)
    .where(and(eq(keyAttempts.identifier, apiKeys.identifier), isOpen, gt(keyAttempts.leaseEndsAt, clock.nowMs())));
  const { identifier, requestedAt } = apiKeys;
  const rowid = sql`${apiKeys}.rowid`;
  const place = db.select({ requestedAt, rowid }).from(apiKeys).where(eq(identifier, own));
  const [order, isBeyond] = side === 'before' ? [desc, lt] : [asc, gt];
  const found = db
    .select({ identifier })
    .from(apiKeys)
    .where(and(IS_PENDING, isBeyond(sql`(${requestedAt}, ${rowid})`, place), notExists(approving)))
    .orderBy(order(requestedAt), order(rowid))
    .limit(1)
    .get();
  return found?.identifier ?? null;
}
