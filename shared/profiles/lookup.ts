import { createKept, type Keepable, type Reader, readInView } from '../db/reader.ts';
import { AppError } from '../errors.ts';
import { etagOf } from '../etag.ts';
import { authIdFault, checkedFold } from './name.ts';

/** What a profile is looked up by: a username or an alias, the UID in decimal, or the auth ID. */
export type LookupBy = 'username' | 'uid' | 'authId';

/** What a lookup returns: the SimplifiedProfile, or `{"links":[…]}` in the owner's order. */
export type LookupOf = 'profile' | 'links';

/** A body that was found. `aliasOf` is the username if the name in the request is an alias, otherwise null. */
export type Found = { body: string; aliasOf: string | null; etag?: string };

/** The entity tag of a body, computed once. */
export function tagOf(found: Found): string {
  found.etag ??= etagOf(found.body);
  return found.etag;
}

/** A query of a batch, with the value as the client wrote it, which the response repeats. */
export type LookupQuery = { way: LookupBy; value: string };

/**
 * Lookups in a database. Both throw `bad_parameter` for a malformed UID and `busy` if the database is locked.
 */
export type Lookup = {
  /** Null if there is no such profile. */
  one: (what: LookupOf, way: LookupBy, value: string) => Found | null;
  /**
   * `{"profiles":[{"query","profile"}],"missing":[…]}` in UTF-8, both in the order of the request, read in one transaction.
   * Throws `bad_parameter` if it would be larger than {@link MAX_BODY_BYTES}.
   */
  many: (queries: readonly LookupQuery[]) => Buffer<ArrayBuffer>;
};

/** The maximum size of a response with several profiles. */
export const MAX_BODY_BYTES = 1024 * 1024;

const UID = /^[1-9][0-9]{0,15}$/;

/** Parses a UID: 1 to 2^53 − 1 in decimal, without sign or leading zeros. Throws `bad_parameter`. */
export function parseUid(text: string): number {
  const uid = Number(text);
  if (!UID.test(text) || !Number.isSafeInteger(uid)) {
    throw new AppError('bad_parameter', `uid must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`);
  }
  return uid;
}

/**
 * Prepares the lookups of a server: each is one statement, which reads one text. Those that are asked for again and again are
 * kept until the next commit, as texts and, for batches, as the bytes of their entries.
 */
export function prepareLookup(reader: Reader): Lookup {
  const profile = prepareFinders(reader, 'profile');
  const kept = { profile: keeping(reader, profile), links: keeping(reader, prepareFinders(reader, 'links')) };
  const entryBy = (way: LookupBy) => (value: string) => entryOf(way, value, profile[way](value));
  const entries = { username: entryBy('username'), uid: entryBy('uid'), authId: entryBy('authId') };
  const keptEntries = keeping(reader, entries);
  return {
    one: (what, way, value) => readInView(reader, () => kept[what][way](value)),
    many: (queries) => readInView(reader, () => manyOf(keptEntries, queries)),
  };
}

type Finders<T = Found | null> = Record<LookupBy, (value: string) => T>;

function keeping<T extends Keepable>(reader: Reader, finders: Finders<T>): Finders<T> {
  const keep = (find: (value: string) => T) => {
    const kept = createKept<T>(reader);
    return (value: string) => kept(value, find);
  };
  return { username: keep(finders.username), uid: keep(finders.uid), authId: keep(finders.authId) };
}

function prepareFinders(reader: Reader, column: LookupOf): Finders {
  const { sqlite } = reader;
  // Joins take five times as long as these inner SELECTs. The name at position 0 is the username.
  const ofName = sqlite.prepare<Found, [string]>(
    `SELECT (SELECT ${column} FROM profiles WHERE id = profile_id) AS body,
      iif(position = 0, NULL, (SELECT name FROM profile_names AS first
        WHERE first.profile_id = profile_names.profile_id AND first.position = 0)) AS aliasOf
      FROM profile_names WHERE folded = ?`,
  );
  const by = (key: string) => `SELECT ${column} AS body, NULL AS aliasOf FROM profiles WHERE ${key} = ?`;
  const ofId = sqlite.prepare<Found, [number]>(by('id'));
  const ofAuthId = sqlite.prepare<Found, [string]>(by('auth_id'));
  return {
    username: (value) => {
      const folded = checkedFold(value);
      return folded === null ? null : ofName.get(folded);
    },
    uid: (value) => ofId.get(parseUid(value)),
    authId: (value) => (authIdFault(value) === null ? ofAuthId.get(value) : null),
  };
}

/** What a batch says of a query, after a comma. */
type Entry = { body: Buffer; isFound: boolean };

function entryOf(way: LookupBy, value: string, found: Found | null): Entry {
  const query = echo(way, value);
  const text = found === null ? query : `{"query":${query},"profile":${found.body}}`;
  return { body: Buffer.from(`,${text}`), isFound: found !== null };
}

function manyOf(entries: Finders<Entry>, queries: readonly LookupQuery[]): Buffer<ArrayBuffer> {
  const [start, middle, end] = [Buffer.from('{"profiles":['), Buffer.from('],"missing":['), Buffer.from(']}')];
  const [found, missing]: [Buffer[], Buffer[]] = [[], []];
  let bytes = start.length + middle.length + end.length;
  for (const { way, value } of queries) {
    const { body, isFound } = entries[way](value);
    const list = isFound ? found : missing;
    const part = list.length === 0 ? body.subarray(1) : body;
    list.push(part);
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) throw TOO_LARGE;
  }
  return Buffer.concat([start, ...found, middle, ...missing, end]);
}

const TOO_LARGE = new AppError(
  'bad_parameter',
  'The requested profiles have more than 1 MiB in total; request fewer at once.',
);

/** A query of a batch as JSON text: the parameter and its decoded value, a UID as a number. */
function echo(way: LookupBy, value: string): string {
  if (way === 'uid') return `{"uid":${value}}`;
  const text = JSON.stringify(value);
  return way === 'username' ? `{"username":${text}}` : `{"authid":${text}}`;
}
