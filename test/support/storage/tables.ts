import { is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Sqlite } from '../../../shared/db/connect.ts';

// The tables of a database and those of Drizzle's schema, in one form, by which a test sees that both agree.

type Column = { name: string; type: string; notNull: boolean; hasDefault: boolean };
type Reference = { columns: string[]; table: string; onDelete: string };
type Table = { name: string; columns: Column[]; indexes: string[]; references: Reference[]; checks: string[] };

const byName = <T extends { name: string }>(rows: T[]) => rows.sort((a, b) => (a.name < b.name ? -1 : 1));

/** The tables of a module that declares them with Drizzle. */
export function tablesIn(schema: Record<string, unknown>): Table[] {
  const tables = Object.values(schema).filter((value) => is(value, SQLiteTable));
  return byName(
    tables.map((table) => {
      const { name, columns, indexes, foreignKeys, checks, primaryKeys } = getTableConfig(table);
      const keys = primaryKeys.flatMap((key) => key.columns.map((column) => column.name));
      return {
        name,
        columns: byName(
          columns.map((column) => ({
            name: column.name,
            type: column.getSQLType().toUpperCase(),
            notNull: column.notNull || column.primary || keys.includes(column.name),
            hasDefault: column.hasDefault && column.default !== undefined,
          })),
        ),
        indexes: indexes.map(({ config }) => config.name).sort(),
        references: foreignKeys
          .map((key) => {
            const { columns: own, foreignTable } = key.reference();
            return {
              columns: own.map((column) => column.name),
              table: getTableConfig(foreignTable).name,
              onDelete: (key.onDelete ?? 'no action').toUpperCase(),
            };
          })
          .sort((a, b) => (`${a.columns}` < `${b.columns}` ? -1 : 1)),
        checks: checks.map((check) => check.name).sort(),
      };
    }),
  );
}

/** The tables of a database. Throws an error for one that is not STRICT. */
export function tablesOf(sqlite: Sqlite): Table[] {
  const tables = sqlite
    .query<{ name: string; strict: number; sql: string }, []>(
      `SELECT list.name, list.strict, made.sql FROM pragma_table_list AS list
        JOIN sqlite_schema AS made ON made.name = list.name WHERE list.type = 'table' AND list.name NOT LIKE 'sqlite_%'`,
    )
    .all();
  return byName(
    tables.map(({ name, strict, sql }) => {
      if (strict === 0) throw new Error(`${name} is not STRICT.`);
      const columns = sqlite
        .query<{ name: string; type: string; notnull: number; dflt_value: unknown; pk: number }, [string]>(
          'SELECT * FROM pragma_table_xinfo(?)',
        )
        .all(name);
      const indexes = sqlite
        .query<{ name: string }, [string]>("SELECT name FROM pragma_index_list(?) WHERE origin = 'c' ORDER BY name")
        .all(name);
      const references = sqlite
        .query<{ own: string; parent: string; on_delete: string }, [string]>(
          'SELECT "from" AS own, "table" AS parent, on_delete FROM pragma_foreign_key_list(?) ORDER BY own',
        )
        .all(name);
      return {
        name,
        columns: byName(
          columns.map((column) => ({
            name: column.name,
            type: column.type.toUpperCase(),
            notNull: column.notnull === 1 || column.pk > 0,
            hasDefault: column.dflt_value !== null,
          })),
        ),
        indexes: indexes.map((index) => index.name),
        references: references.map(({ own, parent, on_delete }) => ({
          columns: [own],
          table: parent,
          onDelete: on_delete,
        })),
        checks: [...sql.matchAll(/CONSTRAINT "(\w+)" CHECK/g)].map(([, check = '']) => check).sort(),
      };
    }),
  );
}
