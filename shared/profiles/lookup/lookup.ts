import { type Reader, readInView } from '../../db/reader.ts';
import { AppError } from '../../errors.ts';
import { authIdFault, checkedFold } from '../name.ts';
import { type Body, bodyOf, MAX_BODY_BYTES, type Part } from './body.ts';
import type { CachedProfile, Source, Sources, Text } from './cache.ts';

/** What a profile is looked up by: a username or an alias, the UID in decimal, or the auth ID. */
export type LookupBy = 'username' | 'uid' | 'authId';

/** The result of a lookup. `aliasOf` is the username if the name in the request is an alias, otherwise null. */
export type Found = { text: Text; aliasOf: string | null };

/** A query of a batch, with the value as the client wrote it, which the response repeats. */
export type LookupQuery = { way: LookupBy; value: string };

/**
 * Lookups in a database. All throw `bad_parameter` for a malformed UID and `busy` if the database is locked. Those of a
 * single profile return null if it does not exist.
 */
export type Lookup = {
  profile: (way: LookupBy, value: string) => Found | null;
  /** `{"links":[…]}` in the owner's order. */
  links: (way: LookupBy, value: string) => Found | null;
  /**
   * `{"profiles":[{"query","profile"}],"missing":[…]}`, both in the order of the request, read in one transaction.
   * Throws `bad_parameter` if it would be larger than {@link MAX_BODY_BYTES}.
   */
  many: (queries: readonly LookupQuery[]) => Body;
};

const UID = /^[1-9][0-9]{0,15}$/;

/** Parses a UID: 1 to 2^53 − 1 in decimal, without sign or leading zeros. Throws `bad_parameter`. */
export function parseUid(text: string): number {
  const uid = Number(text);
  if (!UID.test(text) || !Number.isSafeInteger(uid)) {
    throw new AppError('bad_parameter', `uid must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`);
  }
  return uid;
}

/** Prepares the lookups of a server. Each reads in the open view, or opens one. */
export function prepareLookup(reader: Reader, { profiles, links }: Pick<Sources, 'profiles' | 'links'>): Lookup {
  return {
    profile: (way, value) => readInView(reader, () => found(profiles, way, value)),
    links: (way, value) => readInView(reader, () => found(links, way, value)),
    many: (queries) => readInView(reader, () => foundProfiles(profiles, queries)),
  };
}

function foundProfiles(source: Source, queries: readonly LookupQuery[]): Body {
  const parts: Part[] = [];
  const missing: string[] = [];
  let units = 0;
  for (const { way, value } of queries) {
    const profile = find(source, way, value);
    const query = echo(way, value);
    if (profile === null) {
      missing.push(query);
      continue;
    }
    parts.push(`${parts.length === 0 ? HEAD : '},'}{"query":${query},"profile":`, profile.body);
    units += profile.body.length;
    // A string has at least as many bytes as UTF-16 units, so the rest need not be read.
    if (units > MAX_BODY_BYTES) throw TOO_LARGE;
  }
  parts.push(`${parts.length === 0 ? HEAD : '}'}],"missing":[${missing.join(',')}]}`);
  const body = bodyOf(parts);
  if (body.length > MAX_BODY_BYTES) throw TOO_LARGE;
  return body;
}

const HEAD = '{"profiles":[';

const TOO_LARGE = new AppError(
  'bad_parameter',
  'The requested profiles have more than 1 MiB in total; request fewer at once.',
);

function find(source: Source, way: LookupBy, value: string): CachedProfile | null {
  if (way === 'uid') return source.ofId(parseUid(value));
  if (way === 'authId') return authIdFault(value) === null ? source.ofAuthId(value) : null;
  const folded = checkedFold(value);
  return folded === null ? null : source.ofName(folded);
}

function found(source: Source, way: LookupBy, value: string): Found | null {
  const profile = find(source, way, value);
  if (profile === null) return null;
  const { username, folded } = profile;
  // A name of this profile whose folded form differs from that of the username is an alias.
  const isAlias = way === 'username' && value !== folded && checkedFold(value) !== folded;
  return { text: profile, aliasOf: isAlias ? username : null };
}

/** A query of a batch as JSON text: the parameter and its decoded value, a UID as a number. */
function echo(way: LookupBy, value: string): string {
  if (way === 'uid') return `{"uid":${value}}`;
  const text = UNESCAPED.test(value) ? `"${value}"` : JSON.stringify(value);
  return way === 'username' ? `{"username":${text}}` : `{"authid":${text}}`;
}

/** Texts that need no escapes in JSON, like most names. */
const UNESCAPED = /^[\w-]*$/;
