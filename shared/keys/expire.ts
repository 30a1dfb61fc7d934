import { and, eq, gt, isNull, lte, or, type SQL } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { write } from '../db/write.ts';
import { moveKey } from './record.ts';

/** Whether a key is stored as Active although its time is over: nobody has stored yet that it expired. */
function isDue(nowMs: number): SQL {
  return and(eq(apiKeys.state, 'Active'), lte(apiKeys.expiresAt, nowMs)) as SQL;
}

/** The condition that a key is in this state at a time, as `stateAt` tells it. */
export function isInState(state: KeyState, nowMs: number): SQL {
  const stored = eq(apiKeys.state, state);
  if (state === 'expired') return or(stored, isDue(nowMs)) as SQL;
  return state === 'Active'
    ? (and(stored, or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, nowMs))) as SQL)
    : stored;
}

/**
 * Stores the move to `expired` of every Active key whose time is over (or of one), at that time. Whoever changes keys, or
 * refuses one that is used, calls it first; who only looks at keys does not. It writes only where there is something to
 * move. Throws `busy` where the database stays locked: the key is refused all the same.
 */
export function expireKeys(db: Db, nowMs: number, identifier?: string): void {
  const due = and(isDue(nowMs), identifier === undefined ? undefined : eq(apiKeys.identifier, identifier));
  if (db.select({ one: apiKeys.identifier }).from(apiKeys).where(due).limit(1).get() === undefined) return;
  write(db, (tx) => {
    for (const key of tx.select().from(apiKeys).where(due).all()) {
      moveKey(tx, key, 'expire', { by: SERVICE, atMs: key.expiresAt ?? nowMs });
    }
  });
}
