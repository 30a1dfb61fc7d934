import { and, eq, gt, isNull, lte, or, type SQL } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { write, writePart } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { type ApiKey, moveKey } from './record.ts';

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

/** Whose keys: one, by its identifier, or those of one profile, by its id. Finding those of all would read every Active key. */
export type Expiring = { identifier: string } | { profileId: number };

/** Keys whose time is over although they are stored as Active. */
function dueKeys(db: Db | Tx, of: Expiring, nowMs: number): ApiKey[] {
  const ofThose = 'identifier' in of ? eq(apiKeys.identifier, of.identifier) : eq(apiKeys.profileId, of.profileId);
  const due = and(ofThose, isDue(nowMs));
  return db.select().from(apiKeys).where(due).all();
}

/** Stores that keys have expired, each at its own time, inside a transaction. Returns whether there were any. */
function expireDue(tx: Tx, of: Expiring, nowMs: number): boolean {
  const due = dueKeys(tx, of, nowMs);
  for (const key of due) moveKey(tx, key, 'expire', { by: SERVICE, atMs: key.expiresAt ?? nowMs });
  return due.length > 0;
}

/**
 * Stores that keys have expired. Takes the write lock only where there is something to store. Throws `busy` where the
 * database stays locked: the keys are refused all the same.
 */
export function expireKeys({ db, clock }: Pick<Deps, 'db' | 'clock'>, of: Expiring): void {
  if (dueKeys(db, of, clock.nowMs()).length === 0) return;
  write(db, (tx) => expireDue(tx, of, clock.nowMs()));
}

/**
 * Runs a function that changes keys in one transaction, and passes it the time at which the write lock was got: while a
 * command waits for the lock, a key may expire. Keys whose time is over by then are stored as expired first, also where
 * the function then refuses to do anything (`AppError`). Throws what the function and `write` throw.
 */
export function writeKeys<T>(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  of: Expiring,
  act: (tx: Tx, nowMs: number) => T,
): T {
  const done = write(db, (tx): { value: T } | { refusal: AppError } => {
    const nowMs = clock.nowMs();
    if (!expireDue(tx, of, nowMs)) return { value: act(tx, nowMs) };
    try {
      return { value: writePart(db, () => act(tx, nowMs)) };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { refusal: error };
    }
  });
  if ('refusal' in done) throw done.refusal;
  return done.value;
}
