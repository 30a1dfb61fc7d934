import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { Person } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys, type KeyState, STORED_STATES, type StoredState } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { findProfile } from '../profiles/find.ts';
import { lastUses } from '../usage/usage.ts';
import type { ListInput } from './fields.ts';
import { type Cursor, readCursor } from './inputs.ts';
import { isInState, SECRET_HOLDERS } from './key.ts';
import { isFoundBy } from './search.ts';
import { type KeyView, type Reader, selectViews, showKey, viewOf } from './view.ts';

// Lists of keys, which all have one order: pending keys first, each group oldest first. A cursor stays valid when its key is
// decided, so that the next page skips no key.

/** The cursor after a key, as text. */
function cursorOf(key: KeyView): string {
  return `${key.state === 'pending' ? 1 : 0}-${Date.parse(key.requestedAt)}-${key.identifier}`;
}

/** A list of keys, or one page of it. */
export type ListOutput = {
  keys: KeyView[];
  /** By identifier, in milliseconds since 1970; absent for keys that were never used. */
  lastUses: Map<string, number>;
  /** The cursor of the next page; null on the last one. */
  next: string | null;
};

/** Lists the keys that match the input; owners see only their own. Throws `not_found` for an unknown profile. */
export function listKeys(deps: Pick<Deps, 'db' | 'clock'>, actor: Person, input: ListInput): ListOutput {
  const { db, clock } = deps;
  const limit = input.limit ?? undefined;
  const nowMs = clock.nowMs();
  // By id for owners: another process may have given their name to another profile by now.
  const named = input.profile ? findProfile(db, input.profile).id : undefined;
  const profileId = actor.kind === 'owner' ? actor.profileId : named;
  const filter = {
    profileId,
    states: input.states ?? [],
    found: input.find ? isFoundBy(input.find) : undefined,
  };
  // One more than requested shows whether there is a next page.
  const isShown =
    limit === undefined
      ? matching(filter, nowMs)
      : inArray(apiKeys.identifier, pageOf(deps, filter, limit + 1, input.after));
  const rows = selectViews(db, isShown).all();
  const keys = rows.slice(0, limit).map((row) => viewOf(row, nowMs, actor.kind));
  const last = keys.at(-1);
  return {
    keys,
    lastUses: lastUses(
      deps,
      keys.map(({ identifier }) => identifier),
    ),
    next: rows.length > keys.length && last !== undefined ? cursorOf(last) : null,
  };
}

type Filter = { profileId: number | undefined; states: readonly KeyState[]; found: SQL | undefined };

function matching({ states, profileId, found }: Filter, nowMs: number): SQL | undefined {
  const ofProfile = profileId === undefined ? undefined : eq(apiKeys.profileId, profileId);
  return and(or(...states.map((state) => isInState(state, nowMs))), ofProfile, found);
}

/**
 * The identifiers of one page of the matching keys, `after` a cursor or the identifier of a key. Each stored state is read from
 * an index, in order and only as far as needed: the cost of a page depends on how many keys are skipped because they don't
 * match, not on how many there are.
 */
function pageOf({ db, clock }: Reader, filter: Filter, limit: number, after: string | null | undefined): string[] {
  const cursor = after ? (readCursor(after) ?? readCursor(cursorOf(showKey({ db, clock }, after)))) : null;
  const index = sql.identifier(filter.profileId === undefined ? 'api_keys_state' : 'api_keys_profile');
  const ofEach = storedStates(filter.states).flatMap((state) => {
    const follows = cursor === null ? undefined : comesAfter(cursor, state);
    if (follows === null) return [];
    const where = and(eq(apiKeys.state, state), matching(filter, clock.nowMs()), follows);
    return sql`SELECT * FROM (
      SELECT identifier, state = 'pending' AS waits, requested_at AS at, rowid AS place
        FROM api_keys INDEXED BY ${index} WHERE ${where} ORDER BY requested_at, rowid LIMIT ${limit})`;
  });
  if (ofEach.length === 0) return [];
  const all = sql`${sql.join(ofEach, sql` UNION ALL `)} ORDER BY waits DESC, at, place LIMIT ${limit}`;
  return db.all<{ identifier: string }>(all).map(({ identifier }) => identifier);
}

// An expired key is stored with the state that it had before.
function storedStates(states: readonly KeyState[]): readonly StoredState[] {
  if (states.length === 0) return STORED_STATES;
  const withExpired = states.includes('expired') ? [...states, ...SECRET_HOLDERS] : states;
  return STORED_STATES.filter((one) => withExpired.includes(one));
}

/**
 * The condition that a key in this stored state comes after a cursor: undefined if all do, null if none does. Keys requested in
 * the same millisecond are in the order in which they were stored.
 */
function comesAfter({ isPending, requestedAtMs, identifier }: Cursor, state: StoredState): SQL | undefined | null {
  if ((state === 'pending') !== isPending) return isPending ? undefined : null;
  return sql`(requested_at, rowid) >
    (${requestedAtMs}, ifnull((SELECT rowid FROM api_keys WHERE identifier = ${identifier}), 0))`;
}

// The queue of pending requests, oldest first.

/** How many requests are pending. */
export function countPending({ db }: Pick<Reader, 'db'>): number {
  return countOf(db, "SELECT count(*) AS n FROM api_keys WHERE state = 'pending'");
}

/** How many pending requests are older than this one, which owners are shown. */
export function countOlder({ db }: Pick<Reader, 'db'>, identifier: string): number {
  const own = 'SELECT requested_at FROM api_keys WHERE identifier = ?';
  return countOf(
    db,
    `SELECT count(*) AS n FROM api_keys WHERE state = 'pending' AND requested_at < (${own})`,
    identifier,
  );
}

/** How many other keys the profile of a key has or had. */
export function countKeysBeside({ db }: Pick<Reader, 'db'>, identifier: string): number {
  const own = 'SELECT profile_id FROM api_keys WHERE identifier = ?1';
  return countOf(db, `SELECT count(*) AS n FROM api_keys WHERE profile_id = (${own}) AND identifier <> ?1`, identifier);
}

function countOf(db: Db | Tx, query: string, ...values: string[]): number {
  return db.$client.query<{ n: number }, string[]>(query).get(...values)?.n ?? 0;
}

/**
 * The position of a request in the queue, counted from 1, the length of the queue, and the requests before and after it, which
 * itself may have been decided on. Those that somebody is approving right now are skipped.
 */
export function queuePlace(reader: Reader, identifier: string) {
  const beside = (side: '<' | '>', order: 'ASC' | 'DESC') =>
    reader.db.$client
      .query<{ identifier: string }, [string, number]>(
        `SELECT identifier FROM api_keys
         WHERE state = 'pending'
           AND (requested_at, rowid) ${side} (SELECT requested_at, rowid FROM api_keys WHERE identifier = ?)
           AND NOT EXISTS (SELECT * FROM key_attempts WHERE key_attempts.identifier = api_keys.identifier
             AND result = 'open' AND lease_ends_at > ?)
         ORDER BY requested_at ${order}, rowid ${order} LIMIT 1`,
      )
      .get(identifier, reader.clock.nowMs())?.identifier ?? null;
  return {
    position: countOlder(reader, identifier) + 1,
    waiting: countPending(reader),
    previous: beside('<', 'DESC'),
    next: beside('>', 'ASC'),
  };
}
