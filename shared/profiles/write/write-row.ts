import type { Sqlite } from '../../db/connect.ts';
import { createProfileReader, type StoredProfile } from '../record.ts';
import type { ProfileColumns } from './line.ts';
import type { LinkFields } from './line-values.ts';

/** Writes the rows of profiles and their links, no more of them than differ. */
export type RowWriter = {
  /** Returns whether it went in: not where the id or the auth ID is there already. */
  insert: (id: number, username: string, row: ProfileColumns) => boolean;
  /** Makes the row that is `held` (or none) so; returns whether it was not. */
  replace: (id: number, username: string, row: ProfileColumns, held: StoredProfile | null) => boolean;
  /** Makes the links so; returns whether they were not. */
  putLinks: (id: number, links: readonly LinkFields[], isNew: boolean) => boolean;
};

/** Prepares the statements once, for many profiles. */
export function createRowWriter(sqlite: Sqlite): RowWriter {
  const reader = createProfileReader(sqlite);
  const insert = sqlite.prepare(`${INSERT} ON CONFLICT DO NOTHING`);
  const upsert = sqlite.prepare(`${INSERT} ${UPDATE}`);
  const setCounts = sqlite.prepare('UPDATE profiles SET views_count = ?, followers_count = ? WHERE id = ?');
  const clearLinks = sqlite.prepare('DELETE FROM links WHERE profile_id = ?');
  const addLink = sqlite.prepare('INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  return {
    insert: (id, username, row) => insert.run(...valuesOf(id, username, row)).changes > 0,
    replace: (id, username, row, held) => {
      const values = valuesOf(id, username, row);
      const before = held && valuesOf(id, held.username, flagsOf(held));
      const differing = values.map((_value, index) => index).filter((index) => values[index] !== before?.[index]);
      if (differing.length === 0) return false;
      // What changes most often; all the columns at once would touch all indexes.
      if (before !== null && differing.every((index) => COUNTS.includes(index))) {
        setCounts.run(row.viewsCount, row.followersCount, id);
      } else upsert.run(...values);
      return true;
    },
    putLinks: (id, links, isNew) => {
      const held = isNew ? [] : reader.links(id);
      if (held.length === links.length && links.every((link, index) => sameLink(link, held[index]))) return false;
      if (held.length > 0) clearLinks.run(id);
      for (const [position, l] of links.entries()) {
        addLink.run(id, position, l.id, l.name, l.link, l.title, l.image, l.clicksCount, l.linkMode);
      }
      return true;
    },
  };
}

/** A stored row as a line would set it. */
export function flagsOf({ id: _id, username: _username, ...row }: StoredProfile): ProfileColumns {
  return { ...row, banned: row.banned === 1, showFollowersCount: row.showFollowersCount === 1 };
}

const INSERT = `INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_id, discord_clean, banned,
    views_count, followers_count, show_followers_count, created_at, auth_id, email)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const UPDATE = `ON CONFLICT (id) DO UPDATE SET username = excluded.username, display_name = excluded.display_name,
    badges = excluded.badges, assets = excluded.assets, customize = excluded.customize,
    discord_id = excluded.discord_id, discord_clean = excluded.discord_clean, banned = excluded.banned,
    views_count = excluded.views_count, followers_count = excluded.followers_count,
    show_followers_count = excluded.show_followers_count, created_at = excluded.created_at,
    auth_id = excluded.auth_id, email = excluded.email`;

function valuesOf(id: number, username: string, row: ProfileColumns) {
  return [
    id,
    username,
    row.displayName,
    row.badges,
    row.assets,
    row.customize,
    row.discordId,
    row.discordClean,
    row.banned,
    row.viewsCount,
    row.followersCount,
    row.showFollowersCount,
    row.createdAt,
    row.authId,
    row.email,
  ];
}

/** Where the counts stand among the values. */
const COUNTS = [9, 10];

function sameLink(a: LinkFields, b: LinkFields | undefined): boolean {
  return (
    b !== undefined &&
    a.id === b.id &&
    a.name === b.name &&
    a.link === b.link &&
    a.title === b.title &&
    a.image === b.image &&
    a.clicksCount === b.clicksCount &&
    a.linkMode === b.linkMode
  );
}
