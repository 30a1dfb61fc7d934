import type { Sqlite } from '../../db/connect.ts';
import { COLUMN_LIST, LINK_LIST, type StoredLink, type StoredProfile } from '../field-values.ts';
import { createProfileReader } from '../record.ts';

/** Writes the rows of profiles and their links, no more of them than differ. */
export type RowWriter = {
  /** Returns whether it went in: not where the id or the auth ID is there already. */
  insert: (row: StoredProfile) => boolean;
  /** Makes the row that is `held` (or none) so; returns whether it was not. */
  replace: (row: StoredProfile, held: StoredProfile | null) => boolean;
  /** Makes the links so; returns whether they were not. */
  putLinks: (id: number, links: readonly StoredLink[], isNew: boolean) => boolean;
};

const NAMES = COLUMN_LIST.map(({ name }) => name);
const LINK_NAMES = LINK_LIST.map(({ name }) => name);
const PLACES = COLUMN_LIST.map(() => '?').join(', ');
const INSERT = `INSERT INTO profiles (${COLUMN_LIST.map(({ column }) => column).join(', ')}) VALUES (${PLACES})`;
const UPDATE = COLUMN_LIST.filter(({ kind }) => kind !== 'uid').map(({ column }) => `${column} = excluded.${column}`);
const INSERT_LINK = `INSERT INTO links (profile_id, position, ${LINK_LIST.map(({ column }) => column).join(', ')})
  VALUES (?, ?, ${LINK_LIST.map(() => '?').join(', ')})`;

// Views and followers change most often, and an UPDATE of all columns would touch all indexes.
const COUNTS = COLUMN_LIST.filter(({ kind }) => kind === 'count');
const UPDATE_COUNTS = `UPDATE profiles SET ${COUNTS.map(({ column }) => `${column} = ?`).join(', ')} WHERE id = ?`;

/** Prepares the statements once, for many profiles. */
export function createRowWriter(sqlite: Sqlite): RowWriter {
  const reader = createProfileReader(sqlite);
  const insert = sqlite.prepare(`${INSERT} ON CONFLICT DO NOTHING`);
  const upsert = sqlite.prepare(`${INSERT} ON CONFLICT (id) DO UPDATE SET ${UPDATE.join(', ')}`);
  const setCounts = sqlite.prepare(UPDATE_COUNTS);
  const clearLinks = sqlite.prepare('DELETE FROM links WHERE profile_id = ?');
  const addLink = sqlite.prepare(INSERT_LINK);
  return {
    insert: (row) => insert.run(...valuesOf(row, NAMES)).changes > 0,
    replace: (row, held) => {
      const differing = COLUMN_LIST.filter(({ name }) => row[name] !== held?.[name]);
      if (differing.length === 0) return false;
      if (held !== null && differing.every(({ kind }) => kind === 'count')) {
        setCounts.run(...COUNTS.map(({ name }) => row[name]), row.id);
      } else upsert.run(...valuesOf(row, NAMES));
      return true;
    },
    putLinks: (id, links, isNew) => {
      const held = isNew ? [] : reader.links(id);
      if (held.length === links.length && links.every((link, index) => isSameLink(link, held[index]))) return false;
      if (held.length > 0) clearLinks.run(id);
      for (const [position, link] of links.entries()) addLink.run(id, position, ...valuesOf(link, LINK_NAMES));
      return true;
    },
  };
}

/** The values of these fields of a row, in their order. */
function valuesOf<Name extends string, Value>(row: Record<Name, Value>, names: readonly Name[]): Value[] {
  const values: Value[] = [];
  for (const name of names) values.push(row[name]);
  return values;
}

function isSameLink(a: StoredLink, b: StoredLink | undefined): boolean {
  return b !== undefined && LINK_NAMES.every((name) => a[name] === b[name]);
}
