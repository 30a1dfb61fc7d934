import type { Db } from '../../shared/db/connect.ts';
import { write } from '../../shared/db/write.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { createApplier, noRemarks } from '../../shared/profiles/apply.ts';
import type { Line } from '../../shared/profiles/fields.ts';

const NO_EFFECTS = { erase: () => false, erased: () => {}, readdress: () => {}, ban: () => {} };

/**
 * Inserts a profile, with defaults for the fields that are not given, but an address; returns its id. Unlike an import, it
 * touches nothing else.
 */
export function insertProfile(db: Db, fields: Partial<Line> = {}): number {
  const id = fields.id ?? 1;
  const line = {
    createdAt: '2024-05-01T00:00:00.000Z',
    email: `owner${id}@example.org`,
    username: `user${id}`,
    ...fields,
  };
  const options = { merge: false, onKeys: NO_EFFECTS, asOfMs: null, confirms: false };
  const applier = createApplier(db.$client, options);
  const put = () => write(db, (tx) => applier.apply(tx, { id, fields: { ...line, id }, dropped: [] }, 0, noRemarks()));
  const outcome = put();
  if (outcome !== 'imported') throw new Error(`the profile ${id} was not inserted: ${JSON.stringify(outcome)}`);
  return id;
}

/** SQL that sets a field of the stored SimplifiedProfile, as an expression for the column `profile`. */
export function withField(field: string, json: string): string {
  return `json_set(profile, '$.${field}', json('${json}'))`;
}

/** The usernames in the database of this file, in the order of their ids. Closes the file, so that a command may replace it. */
export function usernamesIn(path: string): string[] {
  const { $client } = openDatabase(path, 'use');
  const rows = $client.query('SELECT username FROM profiles ORDER BY id').all() as { username: string }[];
  $client.close();
  return rows.map(({ username }) => username);
}

/** Changes profiles by SQL. */
export function changeBySql(db: Db, sql: string, values: (number | string)[] = []): void {
  write(db, () => void db.$client.run(sql, values));
}
