import { isoTime } from '../clock.ts';
import type { Sqlite } from '../db/open.ts';
import type { LinkFields } from './line-values.ts';
import { LINK_COLUMNS, linkJson } from './public.ts';

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
  /** All of the profile as a line of JSON; it must be there. */
  line: (id: number) => string;
};

const COLUMNS = `id, username, display_name AS displayName, badges, assets, customize, discord_id AS discordId,
  discord_clean AS discordClean, banned, views_count AS viewsCount, followers_count AS followersCount,
  show_followers_count AS showFollowersCount, created_at AS createdAt, auth_id AS authId, email`;

/** Prepares the statements once, for many profiles. */
export function createProfileReader(sqlite: Sqlite): ProfileReader {
  const row = sqlite.prepare<StoredProfile, [number]>(`SELECT ${COLUMNS} FROM profiles WHERE id = ?`);
  const names = sqlite.prepare<StoredName, [number]>(
    'SELECT folded, name, position FROM profile_names WHERE profile_id = ? ORDER BY position',
  );
  const links = sqlite.prepare<LinkFields, [number]>(
    `SELECT ${LINK_COLUMNS} FROM links WHERE profile_id = ? ORDER BY position`,
  );
  return {
    row: (id) => row.get(id),
    names: (id) => names.all(id),
    links: (id) => links.all(id),
    line: (id) => {
      const found = row.get(id);
      if (found === null) throw new Error('a name without its profile');
      return lineOf({ row: found, aliases: names.all(id).slice(1), links: links.all(id) });
    },
  };
}

/** A whole profile; the aliases without the username, in order. */
export type WholeProfile = { row: StoredProfile; aliases: { name: string }[]; links: LinkFields[] };

/**
 * Every profile, ordered by id, one in memory at a time. Three walks in step, each along an index, take half the time of
 * asking for the names and links of each profile.
 */
export function* readAll(sqlite: Sqlite): Generator<WholeProfile> {
  const rows = sqlite.prepare<StoredProfile, []>(`SELECT ${COLUMNS} FROM profiles ORDER BY id`);
  const aliasesOf = inStep<{ name: string }>(
    sqlite,
    'SELECT profile_id AS owner, name FROM profile_names WHERE position > 0 ORDER BY profile_id, position',
  );
  const linksOf = inStep<LinkFields>(
    sqlite,
    `SELECT profile_id AS owner, ${LINK_COLUMNS} FROM links ORDER BY profile_id, position`,
  );
  for (const row of rows.iterate()) yield { row, aliases: aliasesOf(row.id), links: linksOf(row.id) };
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
 * A profile as a line of JSON (README, "Profiles"), without its line end: every field is there, in the order of
 * the README's example; only a link's optional fields are absent where they have no value.
 */
export function lineOf({ row, aliases, links }: WholeProfile): string {
  const text = JSON.stringify;
  // The columns that hold JSON go in as they are: reading and writing them again would cost more than all the rest.
  return `{"id":${row.id},"username":${text(row.username)},"aliases":[${aliases.map(({ name }) => text(name)).join(',')}],"authId":${text(row.authId)},\
"email":${text(row.email)},"displayName":${text(row.displayName)},"badges":${row.badges},"assets":${row.assets},\
"customize":${row.customize},"discordID":${text(row.discordId)},"discordClean":${row.discordClean},\
"banned":${row.banned === 1},"viewsCount":${row.viewsCount},"followersCount":${row.followersCount},\
"showFollowersCount":${row.showFollowersCount === 1},"createdAt":"${isoTime(row.createdAt)}",\
"links":[${links.map(linkJson).join(',')}]}`;
}
