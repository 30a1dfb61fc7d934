import type { z } from 'zod';
import type { Link } from '../api/bodies.ts';
import { isoTime } from '../clock.ts';

/**
 * The columns that may leave the service, and no others: what is not listed here can't be read by the lookups, let alone
 * shown. Whether the followers count is shown is decided inside the statement, so that the setting stays in the table.
 */
export const PUBLIC_COLUMNS = [
  'id',
  'username',
  'display_name AS displayName',
  'badges',
  'assets',
  'customize',
  'discord_id AS discordID',
  'discord_clean AS discordClean',
  'banned',
  'views_count AS viewsCount',
  'CASE WHEN show_followers_count = 1 THEN followers_count END AS followersCount',
  'created_at AS createdAt',
].join(', ');

/** A row of {@link PUBLIC_COLUMNS}; `badges`, `assets`, `customize` and `discordClean` are JSON texts as stored. */
export type PublicRow = {
  id: number;
  username: string;
  displayName: string;
  badges: string;
  assets: string;
  customize: string;
  discordID: string | null;
  discordClean: string;
  banned: number;
  viewsCount: number;
  followersCount: number | null;
  createdAt: number;
};

/** The public columns of a link, with the names that they have in answers. */
export const LINK_COLUMNS = 'id, name, link, title, image, clicks_count AS clicksCount, link_mode AS linkMode';

/** A row of {@link LINK_COLUMNS}. */
export type LinkRow = {
  id: string;
  name: string;
  link: string;
  title: string | null;
  image: string | null;
  clicksCount: number | null;
  linkMode: string | null;
};

/**
 * The one projection: a SimplifiedProfile (specification 2.1) as JSON text, fields in the specification's order. JSON
 * columns are joined in as they are stored, which is what parsing and writing them again would give.
 */
export function simplifiedProfile(row: PublicRow): string {
  return `{"id":${row.id},"username":${JSON.stringify(row.username)},"displayName":${JSON.stringify(row.displayName)},"badges":${row.badges},"assets":${row.assets},"customize":${row.customize},"discordID":${JSON.stringify(row.discordID)},"discordClean":${row.discordClean},"banned":${row.banned === 1},"viewsCount":${row.viewsCount},"followersCount":${row.followersCount},"createdAt":"${isoTime(row.createdAt)}"}`;
}

/** The links of a profile as JSON text. */
export function linksBody(rows: readonly LinkRow[]): string {
  return `{"links":[${rows.map(linkJson).join(',')}]}`;
}

/** A link (specification 2.2) as JSON text, in answers and exports alike; an optional field without a value is absent. */
export function linkJson(row: LinkRow): string {
  const link: z.infer<typeof Link> = {
    id: row.id,
    name: row.name,
    link: row.link,
    title: row.title ?? undefined,
    image: row.image ?? undefined,
    clicksCount: row.clicksCount ?? undefined,
    linkMode: row.linkMode ?? undefined,
  };
  return JSON.stringify(link);
}
