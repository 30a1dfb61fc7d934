import type { ColumnForm } from '../field-kinds.ts';
import { type Column, LINK_LIST, PUBLIC_LIST } from '../field-values.ts';

// SQL that writes the public fields of a profile as JSON text, derived from the table of fields. Everything that
// clients see of profiles comes from here, and lookups read no other columns.

/**
 * SQL that writes a column of each form as JSON text. json_quote writes texts like JSON.stringify, and null as null.
 * datetime returns NULL for a damaged time outside the years that SQLite supports, and takes half the time of strftime.
 */
const IN_SQL: Record<ColumnForm, (column: string) => string> = {
  number: (column) => column,
  text: (column) => `json_quote(${column})`,
  json: (column) => column,
  flag: (column) => `iif(${column} = 1, 'true', 'false')`,
  time: (column) =>
    `coalesce('"' || replace(datetime(${column} / 1000.0, 'unixepoch', 'subsec'), ' ', 'T') || 'Z"', 'null')`,
};

/** SQL for `"name":value` as JSON text after another text, such as a comma. It ignores whether the field is hidden. */
export function memberInSql(before: string, { name, column, form }: Pick<Column, 'name' | 'column' | 'form'>): string {
  return `'${before}"${name}":', ${IN_SQL[form](column)}`;
}

/** Like {@link memberInSql}, but as clients see the field: null if it is hidden. */
function publicMember(field: Column, at: number): string {
  const { column, shownIf } = field;
  const shown = shownIf === undefined ? column : `iif(${shownIf} = 1, ${column}, 'null')`;
  return memberInSql(at === 0 ? '{' : ',', { ...field, column: shown });
}

/**
 * SQL conditions that are true for the stored values of a form unless they are damaged. json_valid accepts only the
 * JSON of RFC 8259, while the table's own checks accept JSON5. Imports accept the years 0 to 9999.
 */
const SOUND_IN_SQL: Partial<Record<ColumnForm, (column: string) => string>> = {
  json: (column) => `json_valid(${column})`,
  time: (column) => `${column} BETWEEN -62167219200000 AND 253402300799999`,
};

const IS_SOUND = PUBLIC_LIST.flatMap(({ column, form }) => SOUND_IN_SQL[form]?.(column) ?? []).join(' AND ');

/**
 * SQL for a SimplifiedProfile as JSON text, from a row of `profiles`. Reading one text is faster than reading many
 * columns. NULL if a stored value is damaged, so that no broken JSON is sent.
 */
export const PROFILE_BODY = `iif(${IS_SOUND}, concat(${PUBLIC_LIST.map(publicMember).join(', ')}, '}'), NULL)`;

/** SQL for a link as JSON text, from a row of `links`. A field that is null is absent. */
export const LINK_JSON = `concat(${LINK_LIST.map(({ name, column, form, nullable }, at) => {
  const key = `${at === 0 ? '{' : ','}"${name}":`;
  // If the column is NULL, so is the name joined with it, and concat omits it. (nullif of the JSON text 'null' would do
  // the same, but took a fifth of the time of reading the links of a profile.)
  return nullable
    ? `'${key}' || iif(${column} IS NULL, NULL, ${IN_SQL[form](column)})`
    : `'${key}', ${IN_SQL[form](column)}`;
}).join(', ')}, '}')`;

/** SQL for `{"links":[…]}` in the owner's order as JSON text. `profileId` is the column with the id of the profile. */
export function linksBodyOf(profileId: string): string {
  // SQLite keeps the order of the inner SELECT for group_concat; an ORDER BY inside group_concat would sort again.
  return `concat('{"links":[', (SELECT group_concat(json)
    FROM (SELECT ${LINK_JSON} AS json FROM links WHERE profile_id = ${profileId} ORDER BY position)), ']}')`;
}
