import {
  and,
  asc,
  between,
  count,
  desc,
  eq,
  exists,
  gt,
  inArray,
  lt,
  ne,
  notExists,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { ActorKind, Person } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import type { KeyState, StoredState } from '../db/key-columns.ts';
import { apiKeys, keyAttempts } from '../db/schema/keys.ts';
import { profileNames, profiles } from '../db/schema/profiles.ts';
import type { Deps } from '../deps.ts';
import { foldAddress } from '../mail/address.ts';
import { findProfile } from '../profiles/find.ts';
import { firstNames } from '../profiles/list.ts';
import { lastUses } from '../usage/usage.ts';
import type { ListInput } from './fields.ts';
import { isInState, SECRET_HOLDERS } from './key.ts';
import { readKey } from './record.ts';
import { type KeyView, type Reader, selectViews, showKey, type ViewRow, viewOf } from './view.ts';

// Cursors of lists of keys, which all have one order: pending keys first, each group oldest first. A cursor stays valid when
// its key is decided, so that the next page skips no key.

/** 1 if the key was pending, else 0; when it was requested, in milliseconds since 1970; its identifier. */
const CURSOR = /^([01])-(\d{1,15})-([0-9A-Za-z]{8})$/;

const IDENTIFIER = /^[0-9A-Za-z]{8}$/;

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
type KeyFilter = {
  states?: readonly KeyState[] | undefined;
  profileId?: number | undefined;
  /** A condition on `api_keys`. */
  also?: SQL | undefined;
};

/** One page: at most `limit` keys after the cursor `after`. */
type ListPage = { limit: number; after?: Cursor | undefined };

/** The SQL condition of a filter. */
function matching({ states = [], profileId, also }: KeyFilter, nowMs: number): SQL | undefined {
  const ofProfile = profileId === undefined ? undefined : eq(apiKeys.profileId, profileId);
  return and(or(...states.map((state) => isInState(state, nowMs))), ofProfile, also);
}

/**
 * The identifiers of one page of the matching keys. Each stored state is read from an index, in order and only as far as
 * needed: the cost of a page depends on how many keys are skipped because they don't match, not on how many there are.
 */
function identifiersOf(db: Db | Tx, filter: KeyFilter, { limit, after }: ListPage, nowMs: number): string[] {
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

/** The matching keys, all or one page, as this kind of viewer may see them: pending first, each group oldest first. */
export function listKeys(
  reader: Reader,
  filter: KeyFilter,
  viewer: ActorKind = 'operator',
  part?: ListPage,
): KeyView[] {
  const nowMs = reader.clock.nowMs();
  return listRows(reader.db, filter, part, nowMs).map((row) => viewOf(row, nowMs, viewer));
}

// Prepared once: this halves the time of the first page that owners see.
const viewsOfProfile = (db: Db | Tx) => selectViews(db, eq(apiKeys.profileId, sql.placeholder('profileId'))).prepare();

function listRows(db: Db | Tx, filter: KeyFilter, part: ListPage | undefined, nowMs: number): ViewRow[] {
  if (part !== undefined)
    return selectViews(db, inArray(apiKeys.identifier, identifiersOf(db, filter, part, nowMs))).all();
  const { profileId, ...others } = filter;
  const isWhole = Object.values(others).every((one) => one === undefined);
  if (profileId !== undefined && isWhole) return viewsOfProfile(db).all({ profileId });
  return selectViews(db, matching(filter, nowMs)).all();
}

/**
 * The condition of a search: the text is the identifier, a part of the key's name, the beginning of its profile's username or
 * alias, or the profile's e-mail address. It scans all keys: at most 0.2 s for 100 000 keys of 50 000 profiles.
 */
function isFoundBy(db: Db, text: string): SQL | undefined {
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

const besides = (db: Db | Tx) => {
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
};

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

const olderThan = (db: Db | Tx) => {
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
};

/** How many pending requests are older than this one. */
export function countOlder({ db }: Pick<Reader, 'db'>, identifier: string): number {
  return olderThan(db).get({ identifier })?.count ?? 0;
}

/** A list of keys, or one page of it. */
export type ListOutput = {
  keys: KeyView[];
  /** By identifier, in milliseconds since 1970; absent for keys that were never used. */
  lastUses: Map<string, number>;
  /** The cursor of the next page; null on the last one. */
  next: string | null;
};

/** Lists keys that match the input; owners see only their own. Throws `not_found` for an unknown profile. */
export function listForPerson(deps: Deps, actor: Person, input: ListInput): ListOutput {
  const { states, profile } = input;
  const limit = input.limit ?? undefined;
  // By id for owners: another process may have given their name to another profile by now.
  const named = profile ? findProfile(deps.db, profile).id : undefined;
  const profileId = actor.kind === 'owner' ? actor.profileId : named;
  // One more than requested shows whether there is a next page.
  const after = input.after ? cursorAfter(deps, actor, input.after) : undefined;
  const part = limit === undefined ? undefined : { limit: limit + 1, after };
  const also = input.find ? isFoundBy(deps.db, input.find) : undefined;
  const found = listKeys(deps, { profileId, also, states: states ?? undefined }, actor.kind, part);
  const keys = found.slice(0, limit);
  const identifiers = keys.map(({ identifier }) => identifier);
  const last = keys.at(-1);
  return {
    keys,
    lastUses: lastUses(deps, identifiers),
    next: found.length > keys.length && last !== undefined ? cursorOf(last) : null,
  };
}

/** Parses a cursor or the identifier of a key. Throws `not_found` for a key that the person can't see. */
function cursorAfter(deps: Deps, actor: Person, text: string): Cursor | undefined {
  const cursor = readCursor(text);
  if (cursor !== null) return cursor;
  readKey(deps.db, text, actor.kind === 'owner' ? actor.profileId : undefined);
  return readCursor(cursorOf(showKey(deps, text))) ?? undefined;
}
