import type { Sqlite } from '../../db/connect.ts';
import { LINK_LIST, PUBLIC_LIST } from '../field-values.ts';
import { linksBodyOf, PROFILE_BODY } from './public.ts';

/**
 * Prepares a function that returns the size in bytes of the JSON that lookups return for an existing profile, including
 * its links.
 */
export function prepareShownSize(sqlite: Sqlite): (id: number) => number {
  const measure = sqlite.prepare<{ bytes: number }, [number]>(
    `SELECT octet_length(${PROFILE_BODY}) + octet_length(${linksBodyOf('profiles.id')}) AS bytes FROM profiles WHERE id = ?`,
  );
  return (id) => measure.get(id)?.bytes ?? 0;
}

// An upper bound for the bytes of a number, a flag or a time in JSON, and of the quotes, colon and comma beside a text.
const OTHER_BYTES = 32;

/** SQL for a length in bytes. As JSON text, these columns with their names take at most six times that length. */
function lengthInSql(fields: readonly { name: string; column: string; form: string }[]): string {
  const long = fields.filter(({ form }) => form === 'text' || form === 'json');
  const lengths = long.map(({ column }) => `coalesce(octet_length(${column}), 0)`);
  return [String(fields.reduce((sum, { name }) => sum + name.length + OTHER_BYTES, 0)), ...lengths].join(' + ');
}

// SQLite finds lengths in the headers of rows, so long texts are not read. As JSON, a text takes at most six times as
// many bytes. If the JSON of a profile and of its links together exceeds a limit, one of the two exceeds half of it.
const MAY_SHOW_MORE = `
  SELECT id FROM profiles WHERE ?1 < 12 * (${lengthInSql(PUBLIC_LIST)})
  UNION SELECT profile_id FROM links GROUP BY profile_id HAVING ?1 < 12 * sum(${lengthInSql(LINK_LIST)})`;

/**
 * Returns the ids of profiles whose public JSON is longer than `maxBytes`. Reads all rows: about a second for a million
 * profiles.
 */
export function oversizedIds(sqlite: Sqlite, maxBytes: number): number[] {
  const sizeOf = prepareShownSize(sqlite);
  const candidates = sqlite.prepare<{ id: number }, [number]>(MAY_SHOW_MORE).all(maxBytes);
  return candidates.map(({ id }) => id).filter((id) => sizeOf(id) > maxBytes);
}
