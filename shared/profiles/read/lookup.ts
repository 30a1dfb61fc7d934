import { type Reader, readInView } from '../../db/reader.ts';
import { AppError } from '../../errors.ts';
import { authIdFault, checkedFold } from '../name.ts';
import type { Body } from './body.ts';
import type { CachedProfile, Source, Sources, Text } from './cache.ts';
import { isLong, type LongBody, putTogether, type Reading, readInside } from './long-body.ts';

/** By what a profile is looked up: a username or an alias, the UID in decimal, or the auth ID. */
export type Way = 'username' | 'uid' | 'authId';

/** The result of a lookup. `aliasOf` is the username if the name in the request is an alias, otherwise null. */
export type Found = { text: Text; aliasOf: string | null };

/** One of the profiles of a batch, with the value as the client wrote it. The answer repeats it in this form. */
export type Asked = { way: Way; value: string };

/**
 * Lookups in one database. All throw `bad_parameter` for a malformed UID and `busy` if the database is locked. Those of one
 * profile throw `not_found`, with the same sentence however the profile was looked up.
 */
export type Lookup = {
  /** The SimplifiedProfile. */
  profile: (way: Way, value: string) => Found;
  /** `{"links":[…]}` in the owner's order. */
  links: (way: Way, value: string) => Found;
  /**
   * `{"profiles":[{"query","profile"}],"missing":[…]}`, both in the order of the request, read in one transaction. A long
   * body is read in several transactions, each profile in one of them.
   */
  many: (asked: readonly Asked[]) => Body | LongBody;
};

const UID = /^[1-9][0-9]{0,15}$/;

/** Reads a UID: 1 to 2^53 − 1 in decimal, without sign or leading zeros. Throws `bad_parameter`. */
export function parseUid(text: string): number {
  const uid = Number(text);
  if (!UID.test(text) || !Number.isSafeInteger(uid)) {
    throw new AppError('bad_parameter', `uid must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`);
  }
  return uid;
}

/** Prepares the lookups of a server. Each reads in the open view, or opens one. */
export function prepareLookup(reader: Reader, sources: Sources): Lookup {
  const { profile, links, many } = lookupIn(sources);
  return {
    profile: (way, value) => readInView(reader, () => profile(way, value)),
    links: (way, value) => readInView(reader, () => links(way, value)),
    many: (asked) => {
      const body = readInView(reader, () => many(asked));
      return isLong(body) ? readInside(body, (read) => readInView(reader, read)) : body;
    },
  };
}

/** The lookups on any sources: the database, or the sample profiles in the OpenAPI document. */
export function lookupIn(sources: Pick<Sources, 'profiles' | 'links'>): Lookup {
  return {
    profile: (way, value) => found(sources.profiles, way, value),
    links: (way, value) => found(sources.links, way, value),
    many: (asked) => putTogether(foundProfiles(sources.profiles, asked)),
  };
}

/** The answer to a batch lookup. */
function foundProfiles(source: Source, asked: readonly Asked[]): LongBody {
  return { open: () => readProfiles(source, asked) };
}

function readProfiles(source: Source, asked: readonly Asked[]): Reading {
  const missing: string[] = [];
  let position = 0;
  let isFirst = true;
  return (to) => {
    while (position < asked.length) {
      const { way, value } = asked[position++] as Asked;
      const profile = find(source, way, value);
      const query = echo(way, value);
      if (profile === null) {
        missing.push(query);
        continue;
      }
      to.push(`${isFirst ? HEAD : '},'}{"query":${query},"profile":`, profile.body);
      isFirst = false;
      return true;
    }
    to.push(`${isFirst ? HEAD : '}'}],"missing":[${missing.join(',')}]}`);
    return false;
  };
}

const HEAD = '{"profiles":[';

function find(source: Source, way: Way, value: string): CachedProfile | null {
  if (way === 'uid') return source.ofId(parseUid(value));
  if (way === 'authId') return authIdFault(value) === null ? source.ofAuthId(value) : null;
  const folded = checkedFold(value);
  return folded === null ? null : source.ofName(folded);
}

function found(source: Source, way: Way, value: string): Found {
  const profile = find(source, way, value);
  if (profile === null) throw MISSING;
  const { username, folded } = profile;
  // A name that leads to this profile and is folded otherwise than its username is an alias.
  const isAlias = way === 'username' && value !== folded && checkedFold(value) !== folded;
  return { text: profile, aliasOf: isAlias ? username : null };
}

/** One query of a batch as JSON text: the parameter and its decoded value, a UID as a number. */
function echo(way: Way, value: string): string {
  if (way === 'uid') return `{"uid":${value}}`;
  const text = UNESCAPED.test(value) ? `"${value}"` : JSON.stringify(value);
  return way === 'username' ? `{"username":${text}}` : `{"authid":${text}}`;
}

/** Texts that JSON writes without escapes, as most names are. */
const UNESCAPED = /^[\w-]*$/;

/** Made once, because capturing a stack trace takes as long as a lookup, and no one reads this trace. */
const MISSING = new AppError('not_found');
