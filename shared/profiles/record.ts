import { isoTime } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { LINK_COLUMNS, linkJson } from './read/public.ts';
import type { LinkFields } from './write/line-values.ts';

/** A row of `profiles` as the bare connection gives it: Drizzle's names, flags as 0 and 1. */
export type StoredProfile = {
  id: number;
  username: string;
  displayName: string;
  badges: string;
  assets: string;
  customize: string;
  discordId: string | null;
  discordClean: string;
  banned: number;
  viewsCount: number;
  followersCount: number;
  showFollowersCount: number;
  createdAt: number;
  authId: string | null;
  email: string | null;
};

/** A row of `profile_names`, without its profile. */
export type StoredName = { folded: string; name: string; position: number };

/** The prepared statements that read whole profiles, private columns too. For the import and the export only. */
export type ProfileReader = {
  /** The profile's own row, or null. */
  row: (id: number) => StoredProfile | null;
  /** Username (position 0) and aliases, in order. */
  names: (id: number) => StoredName[];
  /** The links in the owner's order. */
  links: (id: number) => LinkFields[];
  /** What the profile's own row gives to its line; the profile must be there. */
  parts: (id: number) => LineParts;
  /** All of the profile as a line of JSON; it must be there. */
  line: (id: number) => string;
};

/** The row of a profile as text around its aliases: SQLite joins its columns in half the time that it takes here. */
export type LineParts = { id: number; head: string; body: string; createdAt: number };

const COLUMNS = `id, username, display_name AS displayName, badges, assets, customize, discord_id AS discordId,
  discord_clean AS discordClean, banned, views_count AS viewsCount, followers_count AS followersCount,
  show_followers_count AS showFollowersCount, created_at AS createdAt, auth_id AS authId, email`;

// The columns that hold JSON go in as they are. json_quote writes a text as JSON.stringify does, and null as null.
const PARTS = `id, created_at AS createdAt, concat('{"id":', id, ',"username":', json_quote(username), ',"aliases":[') AS head,
  concat('],"authId":', json_quote(auth_id), ',"email":', json_quote(email), ',"displayName":', json_quote(display_name),
    ',"badges":', badges, ',"assets":', assets, ',"customize":', customize, ',"discordID":', json_quote(discord_id),
    ',"discordClean":', discord_clean, ',"banned":', iif(banned = 1, 'true', 'false'), ',"viewsCount":', views_count,
    ',"followersCount":', followers_count, ',"showFollowersCount":', iif(show_followers_count = 1, 'true', 'false'),
    ',"createdAt":"') AS body`;

/** Prepares the statements once, for many profiles. */
export function createProfileReader(sqlite: Sqlite): ProfileReader {
  const row = sqlite.prepare<StoredProfile, [number]>(`SELECT ${COLUMNS} FROM profiles WHERE id = ?`);
  const names = sqlite.prepare<StoredName, [number]>(
    'SELECT folded, name, position FROM profile_names WHERE profile_id = ? ORDER BY position',
  );
  const links = sqlite.prepare<LinkFields, [number]>(
    `SELECT ${LINK_COLUMNS} FROM links WHERE profile_id = ? ORDER BY position`,
  );
  const rowParts = sqlite.prepare<LineParts, [number]>(`SELECT ${PARTS} FROM profiles WHERE id = ?`);
  const parts = (id: number): LineParts => {
    const found = rowParts.get(id);
    if (found === null) throw new Error('a name without its profile');
    return found;
  };
  return {
    row: (id) => row.get(id),
    names: (id) => names.all(id),
    links: (id) => links.all(id),
    parts,
    line: (id) => lineOf({ parts: parts(id), aliases: names.all(id).slice(1), links: links.all(id) }),
  };
}

/** A whole profile; the aliases without the username, in order. */
export type WholeProfile = { parts: LineParts; aliases: { name: string }[]; links: LinkFields[] };

/**
 * Every profile, ordered by id, one in memory at a time. Three walks in step, each along an index, take half the time of
 * asking for the names and links of each profile.
 */
export function* readAll(sqlite: Sqlite): Generator<WholeProfile> {
  const rows = sqlite.prepare<LineParts, []>(`SELECT ${PARTS} FROM profiles ORDER BY id`);
  const aliasesOf = inStep<{ name: string }>(
    sqlite,
    'SELECT profile_id AS owner, name FROM profile_names WHERE position > 0 ORDER BY profile_id, position',
  );
  const linksOf = inStep<LinkFields>(
    sqlite,
    `SELECT profile_id AS owner, ${LINK_COLUMNS} FROM links ORDER BY profile_id, position`,
  );
  for (const parts of rows.iterate()) yield { parts, aliases: aliasesOf(parts.id), links: linksOf(parts.id) };
}

/** Hands out the rows of a statement owner by owner; ask for owners in the order of the statement. */
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
 * A profile as a line of JSON (docs/profiles.md), without its line end: every field is there, in the order of
 * the example there; only a link's optional fields are absent where they have no value.
 */
export function lineOf({ parts, aliases, links }: WholeProfile): string {
  const names = aliases.map(({ name }) => JSON.stringify(name)).join(',');
  return `${parts.head}${names}${parts.body}${isoTime(parts.createdAt)}","links":[${links.map(linkJson).join(',')}]}`;
}
