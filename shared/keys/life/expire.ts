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

// Expired, but still stored as Active or suspended.
function isDue(nowMs: number): SQL {
  return and(inArray(apiKeys.state, SECRET_HOLDERS), lte(apiKeys.expiresAt, nowMs)) as SQL;
}

/** The SQL condition that a key is in this state at a time, like `stateAt`. */
export function isInState(state: KeyState, nowMs: number): SQL {
  const stored = eq(apiKeys.state, state);
  if (state === 'expired') return or(stored, isDue(nowMs)) as SQL;
  return hasSecret(state) ? (and(stored, or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, nowMs))) as SQL) : stored;
}

/** The identifiers of the Active keys that expire within `durationMs` from now, the next one first. */
export function expiringKeys(db: Opened, nowMs: number, durationMs: number): string[] {
  const { identifier, state, expiresAt } = apiKeys;
  const keys = withTables(db)
    .select({ identifier })
    .from(apiKeys)
    .where(and(eq(state, 'Active'), gt(expiresAt, nowMs), lte(expiresAt, nowMs + durationMs)))
    .orderBy(asc(expiresAt))
    .all();
  return keys.map((key) => key.identifier);
}

/** One transaction with this many keys takes the server a few milliseconds. */
const MAX_AT_ONCE = 100;

function dueKeys(db: Db | Tx, settledMs: number | null): ApiKey[] {
  if (settledMs === null) return [];
  return db.select().from(apiKeys).where(isDue(settledMs)).limit(MAX_AT_ONCE).all();
}

/**
 * Stores up to 100 expired keys as such (`stateAt` treats them as expired even before). It can't be undone, so nothing is stored
 * until the clock has settled. The server calls it every few seconds. Throws `busy` at once if another process holds the lock,
 * and `refused` if the database can't be written.
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
