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
 * Stores the move to `expired` of the Active keys whose time is over, at that time: of one key or of one profile (its id),
 * since finding those of all profiles would mean to read every Active key. Whoever changes keys, or refuses one that is
 * used, calls it first; who only looks at keys does not. It writes only where there is something to move. Throws `busy`
 * where the database stays locked: the key is refused all the same.
 */
export function expireKeys(db: Db, nowMs: number, of: { identifier: string } | { profileId: number }): void {
  const ofThose = 'identifier' in of ? eq(apiKeys.identifier, of.identifier) : eq(apiKeys.profileId, of.profileId);
  const due = and(ofThose, isDue(nowMs));
  if (db.select({ one: apiKeys.identifier }).from(apiKeys).where(due).limit(1).get() === undefined) return;
  write(db, (tx) => {
    for (const key of tx.select().from(apiKeys).where(due).all()) {
      moveKey(tx, key, 'expire', { by: SERVICE, atMs: key.expiresAt ?? nowMs });
    }
  });
}
