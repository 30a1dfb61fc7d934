import type { Sqlite } from './connect.ts';

/** Whether a main database, which may be of an older schema, has a table with this column. Throws SQLite's errors. */
export function hasColumn(sqlite: Sqlite, table: string, column: string): boolean {
  return sqlite.query('SELECT 1 FROM pragma_table_info(?) WHERE name = ?').get(table, column) !== null;
}

/** A table, index, trigger or view, with the statement that made it; null for an index that SQLite made by itself. */
export type SchemaRow = { type: string; name: string; sql: string | null };

/**
 * Everything that a database has, by name, but for what is not ours: the sqlite_stat tables are SQLite's own, and Litestream
 * makes two tables in a database that it replicates. Throws SQLite's errors.
 */
export function readSchema(sqlite: Sqlite): SchemaRow[] {
  return sqlite
    .query<SchemaRow, []>(
      `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'
         AND NOT (type = 'table' AND name IN ('_litestream_seq', '_litestream_lock')) ORDER BY name`,
    )
    .all();
}
