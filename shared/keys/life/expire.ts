import { and, asc, eq, gt, inArray, isNull, lte, or, type SQL } from 'drizzle-orm';
import { SERVICE } from '../../actor.ts';
import { withBusyTimeout } from '../../db/busy-timeout.ts';
import type { Db, Opened, Tx } from '../../db/connect.ts';
import type { KeyState } from '../../db/key-columns.ts';
import { apiKeys } from '../../db/schema/keys.ts';
import { withTables } from '../../db/tables.ts';
import { write } from '../../db/write.ts';
import type { ServerDeps } from '../../deps.ts';
import { hasSecret, SECRET_HOLDERS } from '../key.ts';
import { type ApiKey, moveKey } from '../record.ts';

/** The condition that a key has expired but is still stored as Active or suspended. */
function isDue(nowMs: number): SQL {
  return and(inArray(apiKeys.state, SECRET_HOLDERS), lte(apiKeys.expiresAt, nowMs)) as SQL;
}

/** The condition that a key is in this state at a time, as in `stateAt`. */
export function isInState(state: KeyState, nowMs: number): SQL {
  const stored = eq(apiKeys.state, state);
  if (state === 'expired') return or(stored, isDue(nowMs)) as SQL;
  return hasSecret(state) ? (and(stored, or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, nowMs))) as SQL) : stored;
}

/** The identifiers of the Active keys that expire within a span from now (milliseconds), the next one first. */
export function expiringKeys(db: Opened, nowMs: number, spanMs: number): string[] {
  const { identifier, state, expiresAt } = apiKeys;
  const keys = withTables(db)
    .select({ identifier })
    .from(apiKeys)
    .where(and(eq(state, 'Active'), gt(expiresAt, nowMs), lte(expiresAt, nowMs + spanMs)))
    .orderBy(asc(expiresAt))
    .all();
  return keys.map((key) => key.identifier);
}

/** The maximum number of keys that one transaction stores as expired, which takes the server a few milliseconds. */
const MOST_AT_ONCE = 100;

/** Expired keys that are not stored as such, at most a hundred; none while the clock is not settled. */
function dueKeys(db: Db | Tx, settledMs: number | null): ApiKey[] {
  if (settledMs === null) return [];
  return db.select().from(apiKeys).where(isDue(settledMs)).limit(MOST_AT_ONCE).all();
}

/**
 * Stores at most a hundred keys as expired; the server calls it every few seconds. This can't be undone, so nothing is stored
 * while the clock is not settled. Such a key counts as expired even before that (`stateAt`). Throws `busy` at once if another
 * process holds the lock, and `refused` if the database can't be written.
 */
export function expireKeys({ db, clock }: Pick<ServerDeps, 'db' | 'clock'>): void {
  const tables = withTables(db);
  if (dueKeys(tables, clock.settledMs()).length === 0) return;
  const expire = (tx: Tx) => {
    for (const key of dueKeys(tx, clock.settledMs())) {
      moveKey(tx, key, 'expire', { by: SERVICE, atMs: key.expiresAt as number });
    }
  };
  withBusyTimeout(db.$client, 0, () => write(tables, expire));
}
