import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import type { KeyState, StoredState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { isInState, SECRET_HOLDERS } from './key.ts';
import type { Cursor } from './list-cursor.ts';

/** Which keys to list: those that meet all conditions. An empty filter matches all keys. */
export type KeyFilter = {
  states?: readonly KeyState[] | undefined;
  profileId?: number | undefined;
  /** A condition on `api_keys`. */
  also?: SQL | undefined;
};

/** One page: at most `limit` keys after the cursor `after`. */
export type ListPage = { limit: number; after?: Cursor | undefined };

/** The SQL condition of a filter. */
export function matching({ states = [], profileId, also }: KeyFilter, nowMs: number): SQL | undefined {
  const ofProfile = profileId === undefined ? undefined : eq(apiKeys.profileId, profileId);
  return and(or(...states.map((state) => isInState(state, nowMs))), ofProfile, also);
}

/**
 * The identifiers of one page of the matching keys. Each stored state is read from an index, in order and only as far as
 * needed: the cost of a page depends on how many keys are skipped because they don't match, not on how many there are.
 */
export function identifiersOf(db: Db | Tx, filter: KeyFilter, { limit, after }: ListPage, nowMs: number): string[] {
  const { profileId } = filter;
  const index = sql.identifier(profileId === undefined ? 'api_keys_state' : 'api_keys_profile');
  const ofEach = storedStates(filter.states).flatMap((state) => {
    const follows = after === undefined ? undefined : comesAfter(after, state, profileId);
    if (follows === null) return [];
    const where = and(eq(apiKeys.state, state), matching(filter, nowMs), follows);
    return sql`SELECT * FROM (
      SELECT identifier, state = 'pending' AS waits, requested_at AS at, rowid AS place
        FROM api_keys INDEXED BY ${index} WHERE ${where} ORDER BY requested_at, rowid LIMIT ${limit})`;
  });
  if (ofEach.length === 0) return [];
  const all = sql`${sql.join(ofEach, sql` UNION ALL `)} ORDER BY waits DESC, at, place LIMIT ${limit}`;
  return db.all<{ identifier: string }>(all).map(({ identifier }) => identifier);
}

const STORED: readonly StoredState[] = ['pending', ...SECRET_HOLDERS, 'rejected', 'withdrawn', 'revoked'];

// An expired key is stored as Active or suspended.
function storedStates(states: readonly KeyState[] = []): readonly StoredState[] {
  if (states.length === 0) return STORED;
  const withExpired = states.includes('expired') ? [...states, ...SECRET_HOLDERS] : states;
  return STORED.filter((one) => withExpired.includes(one));
}

/**
 * The condition that a key in this stored state comes after a cursor: undefined if all do, null if none does. Keys requested in
 * the same millisecond are in the order in which they were stored. The cursor's key is looked up only among those of the same
 * profile, so that an owner learns nothing about other keys.
 */
function comesAfter(cursor: Cursor, state: StoredState, profileId: number | undefined): SQL | undefined | null {
  const isPending = state === 'pending';
  if (isPending !== cursor.isPending) return isPending ? null : undefined;
  const ofProfile = profileId === undefined ? undefined : eq(apiKeys.profileId, profileId);
  const stored = sql`SELECT rowid FROM api_keys WHERE ${and(eq(apiKeys.identifier, cursor.identifier), ofProfile)}`;
  return sql`(requested_at, rowid) > (${cursor.requestedAtMs}, ifnull((${stored}), 0))`;
}
