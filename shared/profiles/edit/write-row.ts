import type { Sqlite } from '../../db/connect.ts';
import { COLUMN_LIST, LINK_LIST, type StoredLink, type StoredProfile } from '../field-values.ts';
import { createProfileReader, type StoredRow } from '../record.ts';

/** Writes rows of profiles and links if they differ. */
export type RowWriter = {
  /** Returns whether the row was inserted: not if its id or auth ID exists. */
  insert: (row: StoredRow) => boolean;
  /** Replaces the stored row (`held`, null if there is none); returns whether it differed. */
  replace: (row: StoredRow, held: StoredProfile | null) => boolean;
  putLinks: (id: number, links: readonly StoredLink[], isNew: boolean) => boolean;
  /** Stores when the profile was written, if its own row was not. */
  stamp: (id: number, writtenAtMs: number) => void;
  countAddressChange: (id: number) => void;
};

const LINK_NAMES = LINK_LIST.map(({ name }) => name);

/**
 * The columns and values of an INSERT. The parameters are named after the fields, so that bun:sqlite binds a row object
 * directly. `computed` are further columns with SQL expressions.
 */
const into = (columns: readonly { name: string; column: string }[], computed: Record<string, string> = {}) => {
  const names = [...columns.map(({ column }) => column), ...Object.keys(computed)];
  const values = [...columns.map(({ name }) => `$${name}`), ...Object.values(computed)];
  return `(${names.join(', ')}) VALUES (${values.join(', ')})`;
};

// SQLite draws a random generation for each inserted row; an upsert keeps that of an existing row. `random()` is
// shifted to fit into a JavaScript integer.
const INSERT = `INSERT INTO profiles ${into(COLUMN_LIST, { generation: 'random() >> 11', written_at: '$writtenAt' })}`;
const UPDATE = [...COLUMN_LIST.filter(({ kind }) => kind !== 'uid'), { column: 'written_at' }].map(
  ({ column }) => `${column} = excluded.${column}`,
);
const INSERT_LINK = `INSERT INTO links ${into([
  { name: 'profileId', column: 'profile_id' },
  { name: 'position', column: 'position' },
  ...LINK_LIST,
])}`;

// Views and followers change most often, and an UPDATE of all columns would touch all indexes.
const COUNTS = COLUMN_LIST.filter(({ kind }) => kind === 'count');
const UPDATE_COUNTS = `UPDATE profiles SET ${COUNTS.map(({ column }) => `${column} = ?`).join(', ')}, written_at = ?
  WHERE id = ?`;

/** Prepares the statements once, for many profiles. */
export function createRowWriter(sqlite: Sqlite): RowWriter {
  const reader = createProfileReader(sqlite);
  const insert = sqlite.prepare(`${INSERT} ON CONFLICT DO NOTHING`);
  const upsert = sqlite.prepare(`${INSERT} ON CONFLICT (id) DO UPDATE SET ${UPDATE.join(', ')}`);
  const setCounts = sqlite.prepare(UPDATE_COUNTS);
  const countChange = sqlite.prepare('UPDATE profiles SET address_changes = address_changes + 1 WHERE id = ?');
  const setWrittenAt = sqlite.prepare('UPDATE profiles SET written_at = ? WHERE id = ?');
  const clearLinks = sqlite.prepare('DELETE FROM links WHERE profile_id = ?');
  const addLink = sqlite.prepare(INSERT_LINK);
  return {
    insert: (row) => insert.run(row).changes > 0,
    replace: (row, held) => {
      const differing = COLUMN_LIST.filter(({ name }) => row[name] !== held?.[name]);
      if (differing.length === 0) return false;
      if (held !== null && differing.every(({ kind }) => kind === 'count')) {
        setCounts.run(...COUNTS.map(({ name }) => row[name]), row.writtenAt, row.id);
      } else upsert.run(row);
      return true;
    },
    putLinks: (id, links, isNew) => {
      const held = isNew ? [] : reader.links(id);
      if (held.length === links.length && links.every((link, index) => isSameLink(link, held[index]))) return false;
      if (held.length > 0) clearLinks.run(id);
      for (const [position, link] of links.entries()) addLink.run({ ...link, profileId: id, position });
      return true;
    },
    stamp: (id, writtenAtMs) => void setWrittenAt.run(writtenAtMs, id),
    countAddressChange: (id) => void countChange.run(id),
  };
}

function isSameLink(a: StoredLink, b: StoredLink | undefined): boolean {
  return b !== undefined && LINK_NAMES.every((name) => a[name] === b[name]);
}
