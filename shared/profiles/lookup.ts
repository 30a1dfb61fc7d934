import { createKept, type Reader, readInView } from '../db/reader.ts';
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
   * `{"profiles":[{"query","profile"}],"missing":[…]}`, both in the order of the request, read in one transaction.
   * Throws `bad_parameter` if it would be larger than {@link MAX_BODY_BYTES}.
   */
  many: (queries: readonly LookupQuery[]) => string;
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
 * kept until the next commit.
 */
export function prepareLookup(reader: Reader): Lookup {
  const finders = { profile: prepareFinders(reader, 'profile'), links: prepareFinders(reader, 'links') };
  return {
    one: (what, way, value) => readInView(reader, () => finders[what][way](value)),
    many: (queries) => readInView(reader, () => manyOf(finders.profile, queries)),
  };
}

type Finders = Record<LookupBy, (value: string) => Found | null>;

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
  const keeping = (find: (value: string) => Found | null) => {
    const kept = createKept<Found | null>(reader);
    return (value: string) => kept(value, find);
  };
  return {
    username: keeping((value) => {
      const folded = checkedFold(value);
      return folded === null ? null : ofName.get(folded);
    }),
    uid: keeping((value) => ofId.get(parseUid(value))),
    authId: keeping((value) => (authIdFault(value) === null ? ofAuthId.get(value) : null)),
  };
}

function manyOf(finders: Finders, queries: readonly LookupQuery[]): string {
  // Parts that are joined once: a string of each profile would copy every body twice.
  const found: string[] = [];
  const missing: string[] = [];
  let units = 0;
  for (const { way, value } of queries) {
    const profile = finders[way](value);
    const query = echo(way, value);
    if (profile === null) missing.push(query);
    else found.push(found.length === 0 ? '{"query":' : ',{"query":', query, ',"profile":', profile.body, '}');
    units += query.length + (profile?.body.length ?? 0);
    // A string has at least as many bytes as UTF-16 units, so the rest need not be read.
    if (units > MAX_BODY_BYTES) throw TOO_LARGE;
  }
  const body = ['{"profiles":[', ...found, '],"missing":[', missing.join(','), ']}'].join('');
  if (3 * body.length > MAX_BODY_BYTES && Buffer.byteLength(body) > MAX_BODY_BYTES) throw TOO_LARGE;
  return body;
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
