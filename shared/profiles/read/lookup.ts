import { type Reader, readInView } from '../../db/reader.ts';
import { AppError } from '../../errors.ts';
import { authIdFault, checkedFold } from '../name.ts';
import type { Body } from './body.ts';
import type { Shown, Source, Sources, Text } from './cache.ts';
import { isLong, type LongBody, putTogether, type Reading, readInside } from './long-body.ts';

/** The ways to a profile: a username or an alias, the UID in decimal, the auth ID. */
export type Way = 'username' | 'uid' | 'authId';

/** What was found, and the primary username where the name that was asked for is an alias. */
export type Found = { text: Text; aliasOf: string | null };

/** One of many that are looked up: as the client put it, which is how it is echoed. */
export type Asked = { way: Way; value: string };

/**
 * Lookups on one database. All throw `bad_parameter` for what is no UID and `busy` where the database is locked; those of
 * one profile throw `not_found`, with one sentence for every way.
 */
export type Lookup = {
  /** The SimplifiedProfile. */
  profile: (way: Way, value: string) => Found;
  /** `{"links":[…]}` in the owner's order. */
  links: (way: Way, value: string) => Found;
  /**
   * `{"profiles":[{"query","profile"}],"missing":[…]}`, both in the order asked, read in one transaction. A long body is
   * read in several: each of its profiles is as it was when it was first read.
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

/** Prepares the lookups of a server: each reads in the view that is open, or opens one. */
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

/** The lookups, wherever the profiles come from: the database, or the sample that the API's document shows. */
export function lookupIn(sources: Pick<Sources, 'profiles' | 'links'>): Lookup {
  return {
    profile: (way, value) => found(sources.profiles, way, value),
    links: (way, value) => found(sources.links, way, value),
    many: (asked) => putTogether(foundProfiles(sources.profiles, asked)),
  };
}

/** The answer to a lookup of many. */
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
      const shown = find(source, way, value);
      const query = echo(way, value);
      if (shown === null) {
        missing.push(query);
        continue;
      }
      to.push(`${isFirst ? HEAD : '},'}{"query":${query},"profile":`, shown.body);
      isFirst = false;
      return true;
    }
    to.push(`${isFirst ? HEAD : '}'}],"missing":[${missing.join(',')}]}`);
    return false;
  };
}

const HEAD = '{"profiles":[';

function find(source: Source, way: Way, value: string): Shown | null {
  if (way === 'uid') return source.ofId(parseUid(value));
  if (way === 'authId') return authIdFault(value) === null ? source.ofAuthId(value) : null;
  const folded = checkedFold(value);
  return folded === null ? null : source.ofName(folded);
}

function found(source: Source, way: Way, value: string): Found {
  const shown = find(source, way, value);
  if (shown === null) throw MISSING;
  const { username, folded } = shown;
  // Folding is what tells an alias: it is not what the username is folded to.
  const isAlias = way === 'username' && value !== folded && checkedFold(value) !== folded;
  return { text: shown, aliasOf: isAlias ? username : null };
}

/** The parameter of a lookup of many for each way; its value is echoed as it was decoded, a UID as the number it is. */
function echo(way: Way, value: string): string {
  if (way === 'uid') return `{"uid":${value}}`;
  const text = UNESCAPED.test(value) ? `"${value}"` : JSON.stringify(value);
  return way === 'username' ? `{"username":${text}}` : `{"authid":${text}}`;
}

/** What JSON quotes as it is; most names are. */
const UNESCAPED = /^[\w-]*$/;

/** Made once: nobody reads its stack, and taking one costs as much as the lookup. */
const MISSING = new AppError('not_found');
