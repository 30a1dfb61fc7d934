import type { Opened, Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { foldName, NAME_MAX_CODE_POINTS } from './name.ts';
import { oversizedIds } from './read/shown-size.ts';

/** Which profiles are meant: those that meet everything that is given here. */
export type ProfileFilter = {
  /** How a username or an alias begins, compared in folded form. */
  nameBegins?: string | undefined;
  isBanned?: boolean | undefined;
  /** Without an e-mail address, so that no key can be requested for it. */
  lacksEmail?: boolean | undefined;
  /** With a key that is pending, Active or suspended. */
  hasKeys?: boolean | undefined;
  /** Shows more bytes than this as JSON, its links included. */
  showsMoreThanBytes?: number | undefined;
};

/** A profile as a list shows it. Private fields are left out. */
export type ListedProfile = {
  id: number;
  username: string;
  displayName: string;
  banned: boolean;
  viewsCount: number;
  /** ISO 8601 in UTC; null where the stored time is damaged. */
  createdAt: string | null;
};

/** A part of a list; `next` is the id after which the next part begins, null at the end. */
export type ProfileList = { profiles: ListedProfile[]; next: number | null };

// No name has more code points than this, so that no name with the same beginning comes after it.
const LAST_CHARACTERS = '\u{10FFFF}'.repeat(NAME_MAX_CODE_POINTS);

/** At most `limit` of the profiles that are meant, by id, those with a greater id than `after`. Throws `busy`. */
export function listProfiles(
  db: Opened,
  { filter, after, limit, nowMs }: { filter: ProfileFilter; after: number; limit: number; nowMs: number },
): ProfileList {
  return guardDatabase(db.$client.filename, () => {
    const { where, values } = conditionsOf(db.$client, filter, nowMs);
    // One more than is shown tells whether the list goes on.
    const rows = db.$client
      .query(
        `SELECT id, username, display_name AS displayName, banned, views_count AS viewsCount,
                strftime('%FT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS createdAt
           FROM profiles WHERE id > ? AND ${where} ORDER BY id LIMIT ?`,
      )
      .all(after, ...values, limit + 1) as (Omit<ListedProfile, 'banned'> & { banned: number })[];
    const profiles = rows.slice(0, limit).map((row) => ({ ...row, banned: row.banned === 1 }));
    return { profiles, next: rows.length > limit ? (profiles.at(-1)?.id ?? null) : null };
  });
}

/** How many profiles are meant. A million take less than a tenth of a second without a filter. Throws `busy`. */
export function countProfiles(db: Opened, filter: ProfileFilter, nowMs: number): number {
  return guardDatabase(db.$client.filename, () => {
    const { where, values } = conditionsOf(db.$client, filter, nowMs);
    const row = db.$client.query(`SELECT count(*) AS count FROM profiles WHERE ${where}`).get(...values);
    return (row as { count: number }).count;
  });
}

/** The filter as a condition of SQL on a row of `profiles`, with the values of its parameters. */
function conditionsOf(
  sqlite: Sqlite,
  filter: ProfileFilter,
  nowMs: number,
): { where: string; values: (number | string)[] } {
  const { nameBegins, isBanned, lacksEmail, hasKeys, showsMoreThanBytes } = filter;
  const parts: [sql: string, ...values: (number | string)[]][] = [];
  if (nameBegins !== undefined) {
    const folded = foldName(nameBegins);
    parts.push([
      'id IN (SELECT profile_id FROM profile_names WHERE folded BETWEEN ? AND ?)',
      folded,
      folded + LAST_CHARACTERS,
    ]);
  }
  if (isBanned !== undefined) parts.push([isBanned ? 'banned = 1' : 'banned = 0']);
  if (lacksEmail === true) parts.push(['email IS NULL']);
  if (hasKeys === true) {
    // An Active or suspended key whose time is over has expired, whether that is stored yet or not.
    parts.push([
      `id IN (SELECT profile_id FROM api_keys
         WHERE state = 'pending' OR (state IN ('Active', 'suspended') AND (expires_at IS NULL OR expires_at > ?)))`,
      nowMs,
    ]);
  }
  if (showsMoreThanBytes !== undefined) {
    parts.push(['id IN (SELECT value FROM json_each(?))', JSON.stringify(oversizedIds(sqlite, showsMoreThanBytes))]);
  }
  const where = parts.map(([sql]) => sql).join(' AND ') || 'true';
  return { where, values: parts.flatMap(([, ...values]) => values) };
}
