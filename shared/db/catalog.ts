import type { Sqlite } from './connect.ts';

/**
 * Whether a file has a table. A file that is about to be replaced may be empty, or of a commit before version 0.1.0.
 * Throws SQLite's errors.
 */
export function hasTable(sqlite: Sqlite, name: string): boolean {
  return sqlite.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== null;
}

/**
 * A table, index, trigger or view, with the statement that created it; null for an index that SQLite created itself.
 */
export type SchemaRow = { type: string; name: string; sql: string | null };

/**
 * Everything in a database's schema by name, except what is not ours: SQLite's own sqlite_stat tables, and two tables
 * that Litestream adds to a database that it replicates. Throws SQLite's errors.
 */
export function readSchema(sqlite: Sqlite): SchemaRow[] {
  return sqlite
    .query<SchemaRow, []>(
      `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'
         AND NOT (type = 'table' AND name IN ('_litestream_seq', '_litestream_lock')) ORDER BY name`,
    )
    .all();
}
