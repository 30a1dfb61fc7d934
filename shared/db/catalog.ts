import type { Sqlite } from './connect.ts';

/** Whether a file contains nothing, not even a table. */
export function isEmpty(sqlite: Sqlite): boolean {
  return sqlite.query('SELECT 1 FROM sqlite_schema').get() === null;
}

/** The application id in a file's header, by which programs recognise their files; 0 if it has none. */
export function readApplicationId(sqlite: Sqlite): number {
  return (sqlite.query('PRAGMA application_id').get() as { application_id: number }).application_id;
}

/** Writes a file's application id. */
export function writeApplicationId(sqlite: Sqlite, id: number): void {
  sqlite.run(`PRAGMA application_id = ${id}`);
}
