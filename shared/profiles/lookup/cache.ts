import { prepareChanges } from '../../db/changes.ts';
import type { Sqlite } from '../../db/connect.ts';
import { onView, type Reader } from '../../db/reader.ts';
import { AppError } from '../../errors.ts';
import { etagOf } from '../../etag.ts';
import { foldName } from '../name.ts';
import { type BoundedCache, createAdmissionFilter, createBoundedCache } from './bounded-cache.ts';
import { linksBodyOf, PROFILE_BODY } from './public.ts';

/** A response body as JSON text, and its entity tag once {@link tagOf} has computed it. */
export type Text = { readonly body: string; etag: string | null };

/** The public JSON of a profile (the SimplifiedProfile, or its links) as read from the database. */
export type CachedProfile = Text & {
  readonly id: number;
  /** A unique number for each read from the database, even of the same profile. */
  readonly stamp: number;
  readonly username: string;
  readonly folded: string;
};

/**
 * Finds either SimplifiedProfiles or links by a folded name, an id or an auth ID. Each function returns null if there
 * is no such profile, and throws `internal` if the profile's stored values are damaged.
 */
export type Source = {
  ofName: (folded: string) => CachedProfile | null;
  ofId: (id: number) => CachedProfile | null;
  ofAuthId: (authId: string) => CachedProfile | null;
};

/** The sources for lookups and the leaderboard. */
export type Sources = {
  profiles: Source;
  /** Reads a profile without caching it; the leaderboard has its own cache. */
  profileOnce: Source['ofId'];
  /** `{"links":[…]}`, in the owner's order. */
  links: Source;
  /**
   * Registers a function that is called when a view begins, with the ids of changed profiles, or null if any may have
   * changed.
   */
  onChange: (act: (ids: readonly number[] | null) => void) => void;
};

/** A row from the statements below. `body` is null if a stored value in it is damaged. */
type Row = { id: number; username: string; body: string | null };

/**
 * The cache entry for a name or an auth ID: the profile's id. It is valid only while the profile with this stamp is
 * cached.
 */
type NameEntry = { id: number; stamp: number };

/** The limits of both caches in bytes. The entries for names and auth IDs take half as much again. */
const MAX_BYTES = { profiles: 8 * 1024 * 1024, links: 4 * 1024 * 1024 };

/**
 * The size of a cached profile besides its texts: an object, the headers of two strings, the tag, a slot in the map.
 */
const PROFILE_BYTES = 350;

const NAME_BYTES = 100;

/** The slots of the admission filter: several times the number of profiles in the cache. */
const FILTER_SLOTS = 16_384;

type Statements = Record<keyof Source, string>;

const PROFILES = `SELECT id, username, ${PROFILE_BODY} AS body FROM profiles WHERE`;
const LINKS = `SELECT id, username, ${linksBodyOf('profiles.id')} AS body FROM profiles WHERE`;

// A join takes five times as long as this inner SELECT.
const OF_PROFILES: Statements = {
  ofName: `${PROFILES} id = (SELECT profile_id FROM profile_names WHERE folded = ?)`,
  ofId: `${PROFILES} id = ?`,
  ofAuthId: `${PROFILES} auth_id = ?`,
};

// The name at position 0 is the username, so for a username the profile's row need not be read.
const OF_LINKS: Statements = {
  ofName: `SELECT profile_id AS id, iif(position = 0, name, (SELECT username FROM profiles WHERE id = profile_id)) AS username,
    ${linksBodyOf('profile_names.profile_id')} AS body FROM profile_names WHERE folded = ?`,
  ofId: `${LINKS} id = ?`,
  ofAuthId: `${LINKS} auth_id = ?`,
};

/**
 * The whole cache is dropped this many milliseconds after a recorded commit. This is for people who change the database
 * with their own SQL: such a commit has no row in profile_changes and drops the whole cache at once, but not if the
 * same view sees it together with a recorded one. Reading a hundred hot profiles again takes a few milliseconds, a full
 * cache half a second.
 */
const DROP_ALL_AFTER_MS = 10_000;

/**
 * Prepares reading profiles and links, and caches them until they change. When a view sees a commit, the changed
 * profiles (`shared/db/changes.ts`) are dropped from the cache, or all profiles if the changes are unknown.
 */
export function prepareProfiles(reader: Reader, maxBytes = MAX_BYTES): Sources {
  const { sqlite } = reader;
  const profiles = cachingSource(sqlite, OF_PROFILES, maxBytes.profiles);
  const links = cachingSource(sqlite, OF_LINKS, maxBytes.links);
  const changes = prepareChanges(sqlite);
  const listeners: Parameters<Sources['onChange']>[0][] = [profiles.drop, links.drop];
  let seq = 0;
  let dropAllAtMs = Number.POSITIVE_INFINITY;
  const drop = (ids: readonly number[] | null, nowMs: number) => {
    for (const act of listeners) act(ids);
    dropAllAtMs = ids === null ? Number.POSITIVE_INFINITY : Math.min(dropAllAtMs, nowMs + DROP_ALL_AFTER_MS);
  };

  onView(reader, (hasCommits, nowMs) => {
    if (hasCommits) {
      const { seq: next, ids } = changes.since(seq);
      drop(next === seq ? null : ids, nowMs);
      seq = next;
    }
    if (nowMs >= dropAllAtMs) drop(null, nowMs);
  });
  return { profiles, profileOnce: profiles.once, links, onChange: (act) => void listeners.push(act) };
}

/**
 * The entity tag of a string. It is computed once, because hashing a cached string would be a tenth of the work of a
 * response.
 */
export function tagOf(text: Text): string {
  text.etag ??= etagOf(text.body);
  return text.etag;
}

/** Makes a cache entry from a row. Throws `internal` if the row has no body. */
function cachedProfileOf({ id, username, body }: Row, stamp: number): CachedProfile {
  if (body === null) {
    throw new AppError('internal', `The stored data of profile ${id} is damaged; import it again or restore a backup.`);
  }
  const folded = foldName(username);
  // If both are equal, the entry contains the same string twice, which takes the memory of one.
  return { id, stamp, username: folded === username ? folded : username, folded, body, etag: null };
}

/**
 * Makes a source that caches the profiles requested more than once. `once` reads a profile without caching it. `drop`
 * removes these profiles from the cache, or all of them if `ids` is null.
 */
function cachingSource(sqlite: Sqlite, statements: Statements, maxBytes: number) {
  const byId = createBoundedCache<number, CachedProfile>(
    maxBytes,
    (_, { username, body }) => PROFILE_BYTES + 2 * (2 * username.length + body.length),
  );
  const byText: BoundedCache<string, NameEntry>[] = [];
  const wasRequested = createAdmissionFilter(FILTER_SLOTS);
  let stamp = 0;

  function add(profile: CachedProfile): CachedProfile {
    byId.set(profile.id, profile);
    return profile;
  }

  function by(statement: string): (text: string) => CachedProfile | null {
    const read = sqlite.prepare<Row, [string]>(statement);
    const entries = createBoundedCache<string, NameEntry>(maxBytes / 4, (text) => NAME_BYTES + 2 * text.length);
    byText.push(entries);
    return (text) => {
      const entry = entries.get(text);
      // Code that removes a name or an auth ID from a profile records a change of the profile. So the entry is valid as
      // long as the profile is cached.
      const known = entry === undefined ? undefined : byId.get(entry.id);
      if (known !== undefined && known.stamp === entry?.stamp) return known;
      const row = read.get(text);
      if (row === null) return null;
      const profile = cachedProfileOf(row, ++stamp);
      if (!wasRequested(row.id)) return profile;
      const cached = byId.get(row.id) ?? add(profile);
      // If both texts are equal, the already cached string is used, which saves memory.
      entries.set(text === cached.folded ? cached.folded : text, { id: cached.id, stamp: cached.stamp });
      return cached;
    };
  }

  const readId = sqlite.prepare<Row, [number]>(statements.ofId);
  function once(id: number): CachedProfile | null {
    const row = readId.get(id);
    return row === null ? null : cachedProfileOf(row, ++stamp);
  }
  const source: Source = {
    ofName: by(statements.ofName),
    ofId: (id) => {
      const cached = byId.get(id);
      if (cached !== undefined) return cached;
      const profile = once(id);
      return profile !== null && wasRequested(id) ? add(profile) : profile;
    },
    ofAuthId: by(statements.ofAuthId),
  };
  const drop = (ids: readonly number[] | null) => {
    if (ids === null) for (const cache of [byId, ...byText]) cache.clear();
    else for (const id of ids) byId.delete(id);
  };
  return { ...source, once, drop };
}
