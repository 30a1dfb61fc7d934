import type { Sqlite } from '../../db/connect.ts';
import { COLUMN_LIST, LINK_LIST, type StoredLink, type StoredProfile } from '../field-values.ts';
import { createProfileReader, type StoredRow } from '../record.ts';

/** Writes the rows of profiles and their links, no more of them than differ. */
export type RowWriter = {
  /** Returns whether it went in: not where the id or the auth ID is there already. */
  insert: (row: StoredRow) => boolean;
  /** Makes the row that is `held` (or none) so; returns whether it was not. */
  replace: (row: StoredRow, held: StoredProfile | null) => boolean;
  /** Makes the links so; returns whether they were not. */
  putLinks: (id: number, links: readonly StoredLink[], isNew: boolean) => boolean;
  /** Stores when the profile was written, where its own row was not. */
  stamp: (id: number, writtenAtMs: number) => void;
  /** Counts that the row got another e-mail address. */
  countAddressChange: (id: number) => void;
};

const LINK_NAMES = LINK_LIST.map(({ name }) => name);

/**
 * A list of columns, and the parameters of the same names that a row is bound to: bun:sqlite reads them from the object.
 * `computed` are further columns, each with the expression that SQLite computes for it.
 */
const into = (columns: readonly { name: string; column: string }[], computed: Record<string, string> = {}) => {
  const names = [...columns.map(({ column }) => column), ...Object.keys(computed)];
  const values = [...columns.map(({ name }) => `$${name}`), ...Object.values(computed)];
  return `(${names.join(', ')}) VALUES (${values.join(', ')})`;
};

// SQLite draws the generation for each row that is inserted; an upsert of a row that is there leaves it alone. A shifted
// `random()` is an integer that JavaScript can hold.
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
