import type { z } from 'zod';
import type { Link } from '../api/bodies.ts';
import { isoTime } from '../clock.ts';

/** What is shown of a row of `profiles`; `badges`, `assets`, `customize` and `discordClean` are JSON texts as stored. */
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

/**
 * The one projection: the fields of a SimplifiedProfile (specification 2.1) in its order, of which columns and how they are
 * written. No other column can leave the service: the lookups don't even read it. Whether the followers count is shown is
 * decided inside the statement, so that the setting stays in the table.
 */
const FIELDS: Record<keyof PublicRow, readonly [column: string, Kind]> = {
  id: ['id', 'number'],
  username: ['username', 'text'],
  displayName: ['display_name', 'text'],
  badges: ['badges', 'json'],
  assets: ['assets', 'json'],
  customize: ['customize', 'json'],
  discordID: ['discord_id', 'text'],
  discordClean: ['discord_clean', 'json'],
  banned: ['banned', 'flag'],
  viewsCount: ['views_count', 'number'],
  followersCount: ["iif(show_followers_count = 1, followers_count, 'null')", 'number'],
  createdAt: ['created_at', 'time'],
};

type Kind = 'number' | 'text' | 'json' | 'flag' | 'time';

/** Each kind as JSON text by SQLite: json_quote writes a text as JSON.stringify does, and null as null. */
const IN_SQL: Record<Kind, (column: string) => string> = {
  number: (column) => column,
  text: (column) => `json_quote(${column})`,
  json: (column) => column,
  flag: (column) => `iif(${column} = 1, 'true', 'false')`,
  // Years 0 to 9999, as an import takes them; any other is a fault, not a gap.
  time: (column) =>
    `iif(${column} BETWEEN -62167219200000 AND 253402300799999,
      strftime('"%FT%H:%M:%fZ"', ${column} / 1000.0, 'unixepoch'), json('no time ' || ${column}))`,
};

/** The same here. Stored JSON is what parsing and writing it again would give. */
const HERE: Record<Kind, (value: unknown) => string> = {
  number: String,
  text: JSON.stringify,
  json: String,
  flag: (value) => String(value === 1),
  time: (value) => `"${isoTime(value as number)}"`,
};

/** A SimplifiedProfile as JSON text, of a row of `profiles` in SQL: one text costs less to hand over than its columns. */
export const PROFILE_BODY = `concat(${Object.entries(FIELDS)
  .map(([field, [column, kind]], at) => `'${at === 0 ? '{' : ','}"${field}":', ${IN_SQL[kind](column)}`)
  .join(', ')}, '}')`;

/** The same of a row that is at hand, for the sample; a test compares the two. */
export function simplifiedProfile(row: PublicRow): string {
  const fields = Object.entries(FIELDS).map(
    ([field, [, kind]]) => `"${field}":${HERE[kind](row[field as keyof PublicRow])}`,
  );
  return `{${fields.join(',')}}`;
}

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

/** `{"links":[…]}` in the owner's order as JSON text in SQL, of the profile whose id this column holds. */
export function linksBodyOf(profileId: string): string {
  const optional = (field: string, column: string) => `',"${field}":' || nullif(json_quote(${column}), 'null')`;
  const link = `concat('{"id":', json_quote(id), ',"name":', json_quote(name), ',"link":', json_quote(link),
    ${optional('title', 'title')}, ${optional('image', 'image')}, ',"clicksCount":' || clicks_count,
    ${optional('linkMode', 'link_mode')}, '}')`;
  // In the order of the inner SELECT, which SQLite keeps for group_concat; ORDER BY inside it sorts once more.
  return `concat('{"links":[', (SELECT group_concat(json)
    FROM (SELECT ${link} AS json FROM links WHERE profile_id = ${profileId} ORDER BY position)), ']}')`;
}

/** The same of rows that are at hand, for the sample; a test compares the two. */
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
