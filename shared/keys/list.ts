import { and, asc, between, count, desc, eq, exists, gt, lt, ne, notExists, or, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import type { KeyState, StoredState } from '../db/key-columns.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys, keyAttempts } from '../db/schema/keys.ts';
import { profileNames, profiles } from '../db/schema/profiles.ts';
import { foldAddress } from '../mail/address.ts';
import { firstNames } from '../profiles/list.ts';
import { isInState, SECRET_HOLDERS } from './key.ts';
import type { Reader } from './view.ts';

// Cursors of lists of keys, which all have one order: pending keys first, each group oldest first. A cursor stays valid when
// its key is decided, so that the next page skips no key.

/** 1 if the key was pending, else 0; when it was requested, in milliseconds since 1970; its identifier. */
const CURSOR = /^([01])-(\d{1,15})-([0-9A-Za-z]{8})$/;

/** Matches the identifiers of keys. */
export const IDENTIFIER = /^[0-9A-Za-z]{8}$/;

/** Whether a string can be the identifier of a key. */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

/** A position in the list, after a key. */
export type Cursor = { isPending: boolean; requestedAtMs: number; identifier: string };

/** The cursor after a key, as text. */
export function cursorOf(key: { state: KeyState; requestedAt: string; identifier: string }): string {
  return `${key.state === 'pending' ? 1 : 0}-${Date.parse(key.requestedAt)}-${key.identifier}`;
}

/** Parses the text of {@link cursorOf}; null for any other string. */
export function readCursor(text: string): Cursor | null {
  const [, group, at, identifier] = CURSOR.exec(text) ?? [];
  return identifier === undefined ? null : { isPending: group === '1', requestedAtMs: Number(at), identifier };
}

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

/**
 * The condition of a search: the text is the identifier, a part of the key's name, the beginning of its profile's username or
 * alias, or the profile's e-mail address. It scans all keys: at most 0.2 s for 100 000 keys of 50 000 profiles.
 */
export function isFoundBy(db: Db, text: string): SQL | undefined {
  const ofProfile = {
    profile: eq(profiles.id, apiKeys.profileId),
    name: eq(profileNames.profileId, apiKeys.profileId),
  };
  const isNamed = db
    .select({ id: profileNames.profileId })
    .from(profileNames)
    .where(and(ofProfile.name, between(profileNames.folded, ...firstNames(text))));
  const hasAddress = db
    .select({ id: profiles.id })
    .from(profiles)
    .where(and(ofProfile.profile, eq(sql`lower(${profiles.email})`, foldAddress(text))));
  return or(
    eq(sql`lower(${apiKeys.identifier})`, text.toLowerCase()),
    sql`instr(lower(${apiKeys.name}), lower(${text})) > 0`,
    exists(isNamed),
    exists(hasAddress),
  );
}

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

// What owners of pending requests are shown: how many requests are ahead.

const olderThan = keepQuery((db) => {
  const { identifier, requestedAt, state } = apiKeys;
  const own = db
    .select({ requestedAt })
    .from(apiKeys)
    .where(eq(identifier, sql.placeholder('identifier')));
  return db
    .select({ count: count() })
    .from(apiKeys)
    .where(and(eq(state, 'pending').inlineParams(), lt(requestedAt, own)))
    .prepare();
});

/** How many pending requests are older than this one. */
export function countOlder({ db }: Pick<Reader, 'db'>, identifier: string): number {
  return olderThan(db).get({ identifier })?.count ?? 0;
}
