import { type Column, LINK_LIST, PUBLIC_LIST } from '../field-values.ts';
import type { ColumnForm } from '../fields.ts';

// The one projection: SQL that writes what clients see of a profile as JSON text, made of the public fields. No other column
// can leave the service: the lookups don't even read it.

/**
 * Each form as JSON text by SQLite: json_quote writes a text as JSON.stringify does, and null as null. strftime gives NULL for
 * a damaged time outside the years that SQLite knows.
 */
const IN_SQL: Record<ColumnForm, (column: string) => string> = {
  number: (column) => column,
  text: (column) => `json_quote(${column})`,
  json: (column) => column,
  flag: (column) => `iif(${column} = 1, 'true', 'false')`,
  time: (column) => `coalesce(strftime('"%FT%H:%M:%fZ"', ${column} / 1000.0, 'unixepoch'), 'null')`,
};

/** SQL for `"name":value` with a text before it, such as a comma: the value of a column as JSON text, hidden or not. */
export function memberInSql(before: string, { name, column, form }: Pick<Column, 'name' | 'column' | 'form'>): string {
  return `'${before}"${name}":', ${IN_SQL[form](column)}`;
}

/** The same as clients may see it: a hidden field is null. It is decided in SQL, so that the setting stays in the table. */
function publicMember(field: Column, at: number): string {
  const { column, shownIf } = field;
  const shown = shownIf === undefined ? column : `iif(${shownIf} = 1, ${column}, 'null')`;
  return memberInSql(at === 0 ? '{' : ',', { ...field, column: shown });
}

/**
 * Conditions in SQL that a stored value of a form meets unless it was damaged. json_valid takes the JSON of RFC 8259 only,
 * while the table's own checks let JSON5 pass. An import takes the years 0 to 9999.
 */
const SOUND_IN_SQL: Partial<Record<ColumnForm, (column: string) => string>> = {
  json: (column) => `json_valid(${column})`,
  time: (column) => `${column} BETWEEN -62167219200000 AND 253402300799999`,
};

const IS_SOUND = PUBLIC_LIST.flatMap(({ column, form }) => SOUND_IN_SQL[form]?.(column) ?? []).join(' AND ');

/**
 * A SimplifiedProfile as JSON text, of a row of `profiles` in SQL: one text costs less to hand over than its columns. NULL
 * where a stored value is damaged, so that no broken JSON is sent.
 */
export const PROFILE_BODY = `iif(${IS_SOUND}, concat(${PUBLIC_LIST.map(publicMember).join(', ')}, '}'), NULL)`;

/** A link (specification 2.2) as JSON text, of a row of `links` in SQL. A field that is null is absent. */
export const LINK_JSON = `concat(${LINK_LIST.map(({ name, column, form, nullable }, at) => {
  const key = `${at === 0 ? '{' : ','}"${name}":`;
  // What is joined with NULL is NULL, and concat leaves that out.
  return nullable ? `'${key}' || nullif(${IN_SQL[form](column)}, 'null')` : `'${key}', ${IN_SQL[form](column)}`;
}).join(', ')}, '}')`;

/** `{"links":[…]}` in the owner's order as JSON text in SQL, of the profile whose id this column holds. */
export function linksBodyOf(profileId: string): string {
  // In the order of the inner SELECT, which SQLite keeps for group_concat; ORDER BY inside it sorts once more.
  return `concat('{"links":[', (SELECT group_concat(json)
    FROM (SELECT ${LINK_JSON} AS json FROM links WHERE profile_id = ${profileId} ORDER BY position)), ']}')`;
}
