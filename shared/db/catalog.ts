import type { Sqlite } from './connect.ts';

/** Whether a file has this table. A file that is about to be replaced may lack some. */
export function hasTable(sqlite: Sqlite, name: string): boolean {
  return sqlite.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== null;
}

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

/**
 * A table, index, trigger or view, with the statement that created it; null for an index that SQLite created itself.
 */
export type SchemaRow = { type: string; name: string; sql: string | null };

/**
 * A database's schema by name, without SQLite's own sqlite_stat tables and the two tables that Litestream adds to a
 * database it replicates.
 */
export function readSchema(sqlite: Sqlite): SchemaRow[] {
  return sqlite
    .query<SchemaRow, []>(
      `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'
         AND NOT (type = 'table' AND name IN ('_litestream_seq', '_litestream_lock')) ORDER BY name`,
    )
    .all();
}
