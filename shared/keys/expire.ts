import { and, eq, lte } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import { apiKeys } from '../db/schema.ts';
import { write } from '../db/write.ts';
import { moveKey } from './record.ts';

/**
 * Stores the move to `expired` of every Active key whose time is over (or of one). Whoever notices calls it; it writes
 * only where there is something to move. Throws `busy` where the database stays locked: the key is refused all the same.
 */
export function expireKeys(db: Db, nowMs: number, identifier?: string): void {
  const due = and(
    eq(apiKeys.state, 'Active'),
    lte(apiKeys.expiresAt, nowMs),
    ...(identifier === undefined ? [] : [eq(apiKeys.identifier, identifier)]),
  );
  if (db.select({ one: apiKeys.identifier }).from(apiKeys).where(due).limit(1).get() === undefined) return;
  write(db, (tx) => {
    for (const key of tx.select().from(apiKeys).where(due).all()) {
      moveKey(tx, key, 'expire', { by: SERVICE, atMs: nowMs });
    }
  });
}
