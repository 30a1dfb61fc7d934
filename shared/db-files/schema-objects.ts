import { readSchema, type SchemaRow } from '../db/catalog.ts';
import { openInMemory, type Sqlite } from '../db/connect.ts';
import { applyMigrations, MIGRATIONS, schemaVersion } from '../db/migrate.ts';

/** A table, index, trigger or view that differs from the one made by the migrations. */
export type SchemaDifference = { type: string; name: string; how: 'missing' | 'foreign' | 'changed' };

/** Compares a database's schema with the one that its migrations make in an empty database. */
export function compareSchema(sqlite: Sqlite): SchemaDifference[] {
  using made = openInMemory();
  applyMigrations(made, MIGRATIONS.slice(0, schemaVersion(sqlite)));
  const [wanted, found] = [rowsByName(made), rowsByName(sqlite)];
  return [...new Map([...wanted, ...found])].flatMap(([key, { type, name }]) => {
    if (!found.has(key)) return { type, name, how: 'missing' };
    if (!wanted.has(key)) return { type, name, how: 'foreign' };
    return textOf(wanted.get(key)) === textOf(found.get(key)) ? [] : { type, name, how: 'changed' };
  });
}

/**
 * The end of a sentence about a missing table or trigger, or an unknown trigger; null if there is none. Additional
 * tables are allowed, but additional triggers would change the data that this program stores.
 */
export function strangeSchema(sqlite: Sqlite): string | null {
  const differences = compareSchema(sqlite).filter(
    ({ type, how }) => type === 'trigger' || (type === 'table' && how === 'missing'),
  );
  const missing = differences.find(({ how }) => how !== 'foreign');
  if (missing !== undefined) return `it lacks the ${missing.type} ${missing.name} of its schema`;
  const [foreign] = differences;
  return foreign === undefined ? null : `it has a trigger ${foreign.name} that is not in its schema`;
}

function rowsByName(sqlite: Sqlite): Map<string, SchemaRow> {
  return new Map(readSchema(sqlite).map((row) => [`${row.type} ${row.name}`, row]));
}

/** Versions of SQLite may quote the names of renamed tables differently. */
function textOf(row: SchemaRow | undefined): string | undefined {
  return row?.sql?.replaceAll(/["`\s]/g, '');
}
