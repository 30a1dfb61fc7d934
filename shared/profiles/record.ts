import type { Sqlite } from '../db/connect.ts';
import { COLUMN_LIST, FIELD_LIST, LINK_LIST, type StoredLink, type StoredProfile } from './field-values.ts';
import { LINK_JSON, memberInSql } from './lookup/public.ts';

/** A row of `profile_names` without its profile. */
export type StoredName = { folded: string; name: string; position: number };

/** A profile's row, with the time at which it was last written (milliseconds since 1970). */
export type StoredRow = StoredProfile & { writtenAt: number };

/** Prepared statements that read whole profiles with their private columns, for imports and exports. */
export type ProfileReader = {
  row: (id: number) => StoredProfile | null;
  /** The username (position 0) and the aliases, in order. */
  names: (id: number) => StoredName[];
  links: (id: number) => StoredLink[];
  /** The profile, which must exist, as a line of JSON with its stored aliases or the given ones. */
  line: (id: number, aliases?: readonly { name: string }[]) => string;
};

/** A profile's row as two JSON texts: the part before its aliases, and the part between its aliases and its links. */
export type LineParts = { id: number; head: string; body: string };

/** A link as JSON text. */
export type LinkText = { json: string };

/** SQL for those of the fields that are columns, as members of a JSON object. */
function membersOf(fields: typeof FIELD_LIST, before: string): string {
  const names = new Set<string>(fields.map(({ name }) => name));
  const columns = COLUMN_LIST.filter(({ name }) => names.has(name));
  return columns.map((column, at) => memberInSql(at === 0 ? before : ',', column)).join(', ');
}

const ALIASES = FIELD_LIST.findIndex(({ name }) => name === 'aliases');

// SQLite makes this text in half the time of JavaScript.
const PARTS = `id, concat(${membersOf(FIELD_LIST.slice(0, ALIASES), '{')}) AS head,
  concat(${membersOf(FIELD_LIST.slice(ALIASES), ',')}) AS body`;

const ROW = COLUMN_LIST.map(({ name, column }) => `${column} AS ${name}`).join(', ');

const LINK_ROW = LINK_LIST.map(({ name, column }) => `${column} AS ${name}`).join(', ');

/** Prepares the statements once, for many profiles. */
export function createProfileReader(sqlite: Sqlite): ProfileReader {
  const row = sqlite.prepare<StoredProfile, [number]>(`SELECT ${ROW} FROM profiles WHERE id = ?`);
  const names = sqlite.prepare<StoredName, [number]>(
    'SELECT folded, name, position FROM profile_names WHERE profile_id = ? ORDER BY position',
  );
  const linksOf = (columns: string) => `SELECT ${columns} FROM links WHERE profile_id = ? ORDER BY position`;
  const links = sqlite.prepare<StoredLink, [number]>(linksOf(LINK_ROW));
  const linkTexts = sqlite.prepare<LinkText, [number]>(linksOf(`${LINK_JSON} AS json`));
  const rowParts = sqlite.prepare<LineParts, [number]>(`SELECT ${PARTS} FROM profiles WHERE id = ?`);
  return {
    row: (id) => row.get(id),
    names: (id) => names.all(id),
    links: (id) => links.all(id),
    line: (id, aliases = names.all(id).slice(1)) => {
      const parts = rowParts.get(id);
      if (parts === null) throw new Error('a name without its profile');
      return lineOf({ parts, aliases, links: linkTexts.all(id) });
    },
  };
}

/** Prepares a function that reads a profile's row and when it was written; null if there is none. For imports only. */
export function prepareRowReader(sqlite: Sqlite): (id: number) => StoredRow | null {
  const row = sqlite.prepare<StoredRow, [number]>(`SELECT ${ROW}, written_at AS writtenAt FROM profiles WHERE id = ?`);
  return (id) => row.get(id);
}

/** Prepares counting the links of a profile. For imports only. */
export function prepareLinkCount(sqlite: Sqlite): (id: number) => number {
  const count = sqlite.prepare<{ links: number }, [number]>('SELECT count(*) AS links FROM links WHERE profile_id = ?');
  return (id) => count.get(id)?.links ?? 0;
}

/** A whole profile. Its aliases are in order and don't include the username. */
export type WholeProfile = { parts: LineParts; aliases: readonly { name: string }[]; links: LinkText[] };

/**
 * Yields all profiles, ordered by id, with one in memory at a time. Three statements read profiles, names and links in
 * parallel, each along an index, in half the time of separate queries for each profile's names and links.
 */
export function* readAll(sqlite: Sqlite): Generator<WholeProfile> {
  const rows = sqlite.prepare<LineParts, []>(`SELECT ${PARTS} FROM profiles ORDER BY id`);
  const aliasesOf = inStep<{ name: string }>(
    sqlite,
    'SELECT profile_id AS owner, name FROM profile_names WHERE position > 0 ORDER BY profile_id, position',
  );
  const linksOf = inStep<LinkText>(
    sqlite,
    `SELECT profile_id AS owner, ${LINK_JSON} AS json FROM links ORDER BY profile_id, position`,
  );
  for (const parts of rows.iterate()) yield { parts, aliases: aliasesOf(parts.id), links: linksOf(parts.id) };
}

/**
 * Runs a statement whose rows are ordered by `owner`, the id of a profile. The returned function returns the rows of
 * one profile, and must be called with ascending ids.
 */
function inStep<T>(sqlite: Sqlite, statement: string): (owner: number) => T[] {
  const walk = sqlite.prepare<T & { owner: number }, []>(statement).iterate();
  let next = walk.next();
  return (owner) => {
    const taken: T[] = [];
    for (; !next.done && next.value.owner <= owner; next = walk.next()) {
      if (next.value.owner === owner) taken.push(next.value);
    }
    return taken;
  };
}

/**
 * Returns a profile as a line of JSON (docs/profiles.md) without a line end. It has all fields in the order of the
 * example in that document; only optional fields of links are absent if they have no value.
 */
export function lineOf({ parts, aliases, links }: WholeProfile): string {
  const names = aliases.map(({ name }) => JSON.stringify(name)).join(',');
  return `${parts.head},"aliases":[${names}]${parts.body},"links":[${links.map(({ json }) => json).join(',')}]}`;
}
