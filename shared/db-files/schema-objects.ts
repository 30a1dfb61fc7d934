import { openBare, type Sqlite } from '../db/connect.ts';
import { appliedMigrations, applyMigrations } from '../db/migrate.ts';
import { MIGRATIONS } from '../db/migrations.ts';

/** A table or a trigger of a database. */
type SchemaObject = { type: string; name: string; sql: string };

/**
 * What a database's tables and triggers have beyond those from its migrations, as the end of a sentence; null if
 * nothing. Additional tables are allowed, but no triggers, which would change what this program stores.
 */
export function strangeSchema(sqlite: Sqlite): string | null {
  const made = openBare(':memory:', 'write');
  try {
    applyMigrations(made, MIGRATIONS.slice(0, appliedMigrations(sqlite)));
    const [ours, theirs] = [objectsOf(made), objectsOf(sqlite)];
    const missing = ours.find((one) => !theirs.some((other) => isSame(one, other)));
    if (missing !== undefined) return `it has not the ${missing.type} ${missing.name} that its schema has`;
    const triggers = theirs.filter(({ type }) => type === 'trigger');
    const foreign = triggers.find((one) => !ours.some((other) => isSame(one, other)));
    return foreign === undefined ? null : `it has a trigger ${foreign.name} that its schema has not`;
  } finally {
    made.close();
  }
}

function objectsOf(sqlite: Sqlite): SchemaObject[] {
  return sqlite
    .query<SchemaObject, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'trigger') AND sql NOT NULL",
    )
    .all();
}

function isSame(one: SchemaObject, other: SchemaObject): boolean {
  return one.type === other.type && one.name === other.name && (one.type === 'table' || textOf(one) === textOf(other));
}

/** Versions of SQLite may quote the names of renamed tables differently. */
function textOf({ sql }: SchemaObject): string {
  return sql.replaceAll(/["`\s]/g, '');
}
