/**
 * The one projection: the fields of a SimplifiedProfile (specification 2.1) in its order, of which columns and how they are
 * written. No other column can leave the service: the lookups don't even read it. Whether the followers count is shown is
 * decided inside the statement, so that the setting stays in the table.
 */
const FIELDS: Record<string, readonly [column: string, Kind]> = {
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
  time: (column) => `strftime('"%FT%H:%M:%fZ"', ${column} / 1000.0, 'unixepoch')`,
};

/**
 * Conditions in SQL that a stored value of a kind meets unless it was damaged. json_valid takes the JSON of RFC 8259 only,
 * while the table's own checks let JSON5 pass. An import takes the years 0 to 9999.
 */
const SOUND_IN_SQL: Partial<Record<Kind, (column: string) => string>> = {
  json: (column) => `json_valid(${column})`,
  time: (column) => `${column} BETWEEN -62167219200000 AND 253402300799999`,
};

const IS_SOUND = Object.values(FIELDS)
  .flatMap(([column, kind]) => SOUND_IN_SQL[kind]?.(column) ?? [])
  .join(' AND ');

/**
 * A SimplifiedProfile as JSON text, of a row of `profiles` in SQL: one text costs less to hand over than its columns. NULL
 * where a stored value is damaged, so that no broken JSON is sent.
 */
export const PROFILE_BODY = `iif(${IS_SOUND}, concat(${Object.entries(FIELDS)
  .map(([field, [column, kind]], at) => `'${at === 0 ? '{' : ','}"${field}":', ${IN_SQL[kind](column)}`)
  .join(', ')}, '}'), NULL)`;

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

/** A link (specification 2.2) as JSON text, as exports write it; {@link linksBodyOf} writes the same. An optional field without a value is absent. */
export function linkJson(row: LinkRow): string {
  const link = {
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
