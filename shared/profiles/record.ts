import { isoTime } from '../clock.ts';
import type { Sqlite } from '../db/open.ts';
import type { LinkFields } from './line-values.ts';
import { linkJson } from './public.ts';

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
  /** Every row, ordered by id. */
  rows: () => Iterable<StoredProfile>;
  /** Username (position 0) and aliases, in order. */
  names: (id: number) => StoredName[];
  /** The links in the owner's order. */
  links: (id: number) => LinkFields[];
};

const COLUMNS = `id, username, display_name AS displayName, badges, assets, customize, discord_id AS discordId,
  discord_clean AS discordClean, banned, views_count AS viewsCount, followers_count AS followersCount,
  show_followers_count AS showFollowersCount, created_at AS createdAt, auth_id AS authId, email`;

/** Prepares the statements once, for many profiles. */
export function createProfileReader(sqlite: Sqlite): ProfileReader {
  const row = sqlite.prepare<StoredProfile, [number]>(`SELECT ${COLUMNS} FROM profiles WHERE id = ?`);
  const rows = sqlite.prepare<StoredProfile, []>(`SELECT ${COLUMNS} FROM profiles ORDER BY id`);
  const names = sqlite.prepare<StoredName, [number]>(
    'SELECT folded, name, position FROM profile_names WHERE profile_id = ? ORDER BY position',
  );
  const links = sqlite.prepare<LinkFields, [number]>(
    `SELECT id, name, link, title, image, clicks_count AS clicksCount, link_mode AS linkMode
       FROM links WHERE profile_id = ? ORDER BY position`,
  );
  return {
    row: (id) => row.get(id),
    rows: () => rows.iterate(),
    names: (id) => names.all(id),
    links: (id) => links.all(id),
  };
}

/**
 * A profile as a line of JSON (README, "Profiles"), without its line end: every field is there, in the order of
 * the README's example; only a link's optional fields are absent where they have no value. `names` begins with the
 * username.
 */
export function lineOf(row: StoredProfile, names: readonly { name: string }[], links: readonly LinkFields[]): string {
  const text = JSON.stringify;
  const aliases = names.slice(1).map(({ name }) => text(name));
  // The columns that hold JSON go in as they are: reading and writing them again would cost more than all the rest.
  return `{"id":${row.id},"username":${text(row.username)},"aliases":[${aliases.join(',')}],"authId":${text(row.authId)},\
"email":${text(row.email)},"displayName":${text(row.displayName)},"badges":${row.badges},"assets":${row.assets},\
"customize":${row.customize},"discordID":${text(row.discordId)},"discordClean":${row.discordClean},\
"banned":${row.banned === 1},"viewsCount":${row.viewsCount},"followersCount":${row.followersCount},\
"showFollowersCount":${row.showFollowersCount === 1},"createdAt":"${isoTime(row.createdAt)}",\
"links":[${links.map(linkJson).join(',')}]}`;
}
