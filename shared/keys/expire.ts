import { and, eq, gt, isNull, lte, or, type SQL } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import { withBusyTimeout } from '../db/busy-timeout.ts';
import type { Db, Tx } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { withTables } from '../db/tables.ts';
import { write, writePart } from '../db/write.ts';
import type { Deps, ServerDeps } from '../deps.ts';
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

/** Whose keys: one, by its identifier, those of one profile, by its id, or so many at most of all. */
export type Expiring = { identifier: string } | { profileId: number } | { most: number };

/** Keys whose time is over although they are stored as Active. */
function dueKeys(db: Db | Tx, of: Expiring, settledMs: number | null): ApiKey[] {
  if (settledMs === null) return [];
  const query = db.select().from(apiKeys).$dynamic();
  if ('most' in of) return query.where(isDue(settledMs)).limit(of.most).all();
  const ofThose = 'identifier' in of ? eq(apiKeys.identifier, of.identifier) : eq(apiKeys.profileId, of.profileId);
  return query.where(and(ofThose, isDue(settledMs))).all();
}

/** Stores that keys have expired, each at its own time, inside a transaction. Returns how many they were. */
function expireDue(tx: Tx, of: Expiring, settledMs: number | null): number {
  const due = dueKeys(tx, of, settledMs);
  for (const key of due) moveKey(tx, key, 'expire', { by: SERVICE, atMs: key.expiresAt as number });
  return due.length;
}

/** At most so many keys are stored as expired at once, which takes the server a few milliseconds. */
const MOST_AT_ONCE = 100;

/**
 * Stores that keys of any profile have expired, a hundred at most; the server calls it every few seconds. That can't be
 * taken back, so nothing is stored while the clock is not settled. Stored or not, everybody takes such a key for an
 * expired one (`stateAt`). Throws `busy` at once where another process holds the lock, and `refused` where the database
 * can't be written.
 */
export function expireKeys({ db, clock }: Pick<ServerDeps, 'db' | 'clock'>): void {
  const of = { most: MOST_AT_ONCE };
  const tables = withTables(db);
  if (dueKeys(tables, of, clock.settledMs()).length === 0) return;
  withBusyTimeout(db.$client, 0, () => write(tables, (tx) => expireDue(tx, of, clock.settledMs())));
}

/**
 * Runs a function that changes keys in one transaction, and passes it the time at which the write lock was got: while a
 * command waits for the lock, a key may expire. Keys whose time is over by then are stored as expired first, if the clock
 * is settled, also where the function then refuses to do anything (`AppError`). Throws what the function and `write` throw.
 */
export function writeKeys<T>(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  of: Expiring,
  act: (tx: Tx, nowMs: number) => T,
): T {
  const done = write(db, (tx): { value: T } | { refusal: AppError } => {
    const nowMs = clock.nowMs();
    if (expireDue(tx, of, clock.settledMs()) === 0) return { value: act(tx, nowMs) };
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
