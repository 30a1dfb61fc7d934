import { type Db, guardDatabase } from '../db/open.ts';
import { AppError } from '../errors.ts';
import { authIdFault, checkedFold } from './name.ts';
import { LINK_COLUMNS, type LinkRow, linksBody, PUBLIC_COLUMNS, type PublicRow, simplifiedProfile } from './public.ts';

/** The ways to a profile: a username or an alias, the UID in decimal, the auth ID. */
export type Way = 'username' | 'uid' | 'authId';

/** What was found: a JSON text, and the primary username where the name that was asked for is an alias. */
export type Found = { body: string; aliasOf: string | null };

/**
 * Lookups on one database, their statements prepared once. All throw `not_found` with one sentence for every way,
 * `bad_parameter` for what is no UID, `busy` where the database is locked.
 */
export type Lookup = {
  /** The SimplifiedProfile. */
  profile: (way: Way, value: string) => Found;
  /** `{"links":[…]}` in the owner's order. */
  links: (way: Way, value: string) => Found;
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

  const refer: Record<Way, (value: string) => Reference> = {
    username: (value) => {
      const folded = checkedFold(value);
      const row = folded === null ? null : idOfName.get(folded);
      if (row === null) throw notFound();
      return { id: row.id, isAlias: row.position > 0 };
    },
    uid: (value) => ({ id: parseUid(value), isAlias: false }),
    authId: (value) => {
      const row = authIdFault(value) === null ? idOfAuthId.get(value) : null;
      if (row === null) throw notFound();
      return { id: row.id, isAlias: false };
    },
  };

  const profile = (way: Way, value: string): Found => {
    const { id, isAlias } = refer[way](value);
    const row = rowOfId.get(id) ?? missing();
    return { body: simplifiedProfile(row), aliasOf: isAlias ? row.username : null };
  };
  const links = (way: Way, value: string): Found => {
    const { id, isAlias } = refer[way](value);
    const { username } = usernameOfId.get(id) ?? missing();
    return { body: linksBody(linksOfId.all(id)), aliasOf: isAlias ? username : null };
  };
  return {
    profile: (way, value) => guardDatabase(sqlite.filename, () => profile(way, value)),
    links: (way, value) => guardDatabase(sqlite.filename, () => links(way, value)),
  };
}

function notFound(): AppError {
  return new AppError('not_found', 'There is no such profile.');
}

function missing(): never {
  throw notFound();
}
