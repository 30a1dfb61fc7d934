import { type Db, guardDatabase } from '../db/open.ts';
import { AppError } from '../errors.ts';
import { authIdFault, checkedFold } from './name.ts';
import { LINK_COLUMNS, type LinkRow, linksBody, PUBLIC_COLUMNS, type PublicRow, simplifiedProfile } from './public.ts';

/** The ways to a profile: a username or an alias, the UID in decimal, the auth ID. */
export type Way = 'username' | 'uid' | 'authId';

/** What was found: a JSON text, and the primary username where the name that was asked for is an alias. */
export type Found = { body: string; aliasOf: string | null };

/** One of many that are looked up: as the client put it, which is how it is echoed. */
export type Asked = { way: Way; value: string };

/**
 * Lookups on one database, their statements prepared once. All throw `bad_parameter` for what is no UID and `busy` where
 * the database is locked; those of one profile throw `not_found`, with one sentence for every way.
 */
export type Lookup = {
  /** The SimplifiedProfile. */
  profile: (way: Way, value: string) => Found;
  /** `{"links":[…]}` in the owner's order. */
  links: (way: Way, value: string) => Found;
  /** `{"profiles":[{"query","profile"}],"missing":[…]}` as JSON text, both in the order asked, read in one transaction. */
  many: (asked: readonly Asked[]) => string;
};

type Reference = { id: number; isAlias: boolean };

const UID = /^[1-9][0-9]{0,15}$/;

/** Reads a UID: 1 to 2^53 − 1 in decimal, without sign or leading zeros. Throws `bad_parameter`. */
export function parseUid(text: string): number {
  const uid = Number(text);
  if (!UID.test(text) || !Number.isSafeInteger(uid)) {
    throw new AppError('bad_parameter', `uid must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`);
  }
  return uid;
}

/** Where profiles are read from; each answers null where there is nothing. */
export type Tables = {
  /** The profile of a folded name, and the name's position: 0 for the primary username. */
  idOfName: (folded: string) => { id: number; position: number } | null;
  idOfAuthId: (authId: string) => { id: number } | null;
  rowOfId: (id: number) => PublicRow | null;
  usernameOfId: (id: number) => { username: string } | null;
  /** In the owner's order. */
  linksOfId: (id: number) => readonly LinkRow[];
};

/** Prepares the lookups. Two point reads are faster here than one join. */
export function prepareLookup(db: Db): Lookup {
  const { $client: sqlite } = db;
  const idOfName = sqlite.prepare<{ id: number; position: number }, [string]>(
    'SELECT profile_id AS id, position FROM profile_names WHERE folded = ?',
  );
  const idOfAuthId = sqlite.prepare<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?');
  const rowOfId = sqlite.prepare<PublicRow, [number]>(`SELECT ${PUBLIC_COLUMNS} FROM profiles WHERE id = ?`);
  const usernameOfId = sqlite.prepare<{ username: string }, [number]>('SELECT username FROM profiles WHERE id = ?');
  const linksOfId = sqlite.prepare<LinkRow, [number]>(
    `SELECT ${LINK_COLUMNS} FROM links WHERE profile_id = ? ORDER BY position`,
  );
  const { profile, links, many } = lookupIn({
    idOfName: (folded) => idOfName.get(folded),
    idOfAuthId: (authId) => idOfAuthId.get(authId),
    rowOfId: (id) => rowOfId.get(id),
    usernameOfId: (id) => usernameOfId.get(id),
    linksOfId: (id) => linksOfId.all(id),
  });
  const manyAtOnce = sqlite.transaction(many);
  return {
    profile: (way, value) => guardDatabase(sqlite.filename, () => profile(way, value)),
    links: (way, value) => guardDatabase(sqlite.filename, () => links(way, value)),
    many: (asked) => guardDatabase(sqlite.filename, () => manyAtOnce(asked)),
  };
}

/** The lookups, wherever the profiles come from: the database, or the sample that the API's document shows. */
export function lookupIn(tables: Tables): Lookup {
  const refer: Record<Way, (value: string) => Reference | null> = {
    username: (value) => {
      const folded = checkedFold(value);
      const row = folded === null ? null : tables.idOfName(folded);
      return row === null ? null : { id: row.id, isAlias: row.position > 0 };
    },
    uid: (value) => ({ id: parseUid(value), isAlias: false }),
    authId: (value) => {
      const row = authIdFault(value) === null ? tables.idOfAuthId(value) : null;
      return row === null ? null : { id: row.id, isAlias: false };
    },
  };
  return {
    profile: (way, value) => {
      const { id, isAlias } = refer[way](value) ?? missing();
      const row = tables.rowOfId(id) ?? missing();
      return { body: simplifiedProfile(row), aliasOf: isAlias ? row.username : null };
    },
    links: (way, value) => {
      const { id, isAlias } = refer[way](value) ?? missing();
      const { username } = tables.usernameOfId(id) ?? missing();
      return { body: linksBody(tables.linksOfId(id)), aliasOf: isAlias ? username : null };
    },
    many: (asked) => {
      const profiles: string[] = [];
      const absent: string[] = [];
      for (const { way, value } of asked) {
        const id = refer[way](value)?.id;
        const row = id === undefined ? null : tables.rowOfId(id);
        const query = echo(way, value);
        if (row === null) absent.push(query);
        else profiles.push(`{"query":${query},"profile":${simplifiedProfile(row)}}`);
      }
      return `{"profiles":[${profiles.join(',')}],"missing":[${absent.join(',')}]}`;
    },
  };
}

/** The parameter of a lookup of many for each way; its value is echoed as it was decoded, a UID as the number it is. */
function echo(way: Way, value: string): string {
  return way === 'uid' ? `{"uid":${value}}` : `{"${way.toLowerCase()}":${JSON.stringify(value)}}`;
}

function missing(): never {
  throw new AppError('not_found', 'There is no such profile.');
}
