import type { Sqlite } from './connect.ts';

/** Whether a main database, which may be of an older schema, has a table with this column. Throws SQLite's errors. */
export function hasColumn(sqlite: Sqlite, table: string, column: string): boolean {
  return sqlite.query('SELECT 1 FROM pragma_table_info(?) WHERE name = ?').get(table, column) !== null;
}
