import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import { KEY_STATES, type KeyState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { hasSecret } from './key.ts';
import { isInState } from './life/expire.ts';
import type { Cursor } from './list-cursor.ts';

/**
 * Which keys to list: those in one of these states, of this profile (its id), that meet this condition on `api_keys` too;
 * all where none of these is given.
 */
export type KeyFilter = {
  states?: readonly KeyState[] | undefined;
  profileId?: number | undefined;
  /** A part of the name; upper and lower case of ASCII letters are alike. */
  namePart?: string | undefined;
  also?: SQL | undefined;
};

/** A part of a list: so many keys at most, those that follow a place where one is given. */
export type ListPage = { limit: number; after?: Cursor | undefined };

/** The condition that a key matches at a time. */
export function matching({ states = [], profileId, namePart, also }: KeyFilter, nowMs: number): SQL | undefined {
  const ofProfile = profileId === undefined ? undefined : eq(apiKeys.profileId, profileId);
  const named = namePart === undefined ? undefined : sql`instr(lower(${apiKeys.name}), lower(${namePart})) > 0`;
  return and(or(...states.map((state) => isInState(state, nowMs))), ofProfile, named, also);
}

/**
 * The identifiers of a part of the keys that match, in no order. The keys of each stored state are read in their order from
 * an index, as far as needed, so that a part costs the same however many keys there are; those of one profile are few.
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

/** The states as which a key may be stored that is in one of these now: one that has a secret may be over. */
function storedStates(states: readonly KeyState[] = []): readonly KeyState[] {
  if (states.length === 0) return KEY_STATES;
  return KEY_STATES.filter((one) => states.includes(one) || (hasSecret(one) && states.includes('expired')));
}

/**
 * The condition that a key of this stored state comes after a place: undefined where each does, null where none does. Of
 * keys that were requested in the same millisecond, those come later that were stored later. The key at the place is looked
 * for among those of the same profile, so that whoever may list only these learns nothing of others.
 */
function comesAfter(place: Cursor, state: KeyState, profileId: number | undefined): SQL | undefined | null {
  const isPending = state === 'pending';
  if (isPending !== place.isPending) return isPending ? null : undefined;
  const ofProfile = profileId === undefined ? undefined : eq(apiKeys.profileId, profileId);
  const stored = sql`SELECT rowid FROM api_keys WHERE ${and(eq(apiKeys.identifier, place.identifier), ofProfile)}`;
  return sql`(requested_at, rowid) > (${place.requestedAtMs}, ifnull((${stored}), 0))`;
}
