import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type AppError, fileRefusal } from '../errors.ts';
import type { Sqlite } from './connect.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';
import { realPath } from './real-path.ts';

/** The application id in the file's header, "PLK1": a file with another id is another program's and never touched. */
export const APPLICATION_ID = 0x504c4b31;

/** How a database's schema compares with the one of this program. */
export type SchemaState = 'new' | 'older' | 'current';

/**
 * Compares a database with the known migrations. Throws `refused` if the file is another program's, has migrations of a
 * newer version, or has migrations that differ from the released ones.
 */
export function schemaState(sqlite: Sqlite, path: string, migrations = MIGRATIONS): SchemaState {
  // One statement reads both values from one snapshot: another process may be creating the tables.
  const { id, tables } = sqlite
    .query('SELECT (SELECT count(*) FROM sqlite_schema) AS tables, application_id AS id FROM pragma_application_id')
    .get() as { id: number; tables: number };
  if (tables === 0 && id === 0) return 'new';
  if (id !== APPLICATION_ID) throw fileRefusal(`${path} is not a Profile Lookup database.`);
  const { applied, changed } = compareMigrations(sqlite, migrations);
  if (applied > migrations.length) throw newerDatabase(path, applied, migrations.length);
  if (changed !== null) throw fileRefusal(`The database ${path} has another migration ${changed} than this version.`);
  return applied < migrations.length ? 'older' : 'current';
}

/**
 * How many migrations a file has, and the name of the first that differs from the known one of its number; null where none
 * does.
 */
export function compareMigrations(
  sqlite: Sqlite,
  migrations: readonly Migration[],
): { applied: number; changed: string | null } {
  const rows = sqlite
    .query<{ name: string; sha256: string }, []>('SELECT name, sha256 FROM migrations ORDER BY number')
    .all();
  const changed = rows.find((row, at) => {
    const known = migrations[at];
    return known !== undefined && row.sha256 !== sha256(known);
  });
  return { applied: rows.length, changed: changed?.name ?? null };
}

function newerDatabase(path: string, applied: number, known: number): AppError {
  const made = `The database ${path} was made by a newer version of Profile Lookup (schema ${applied}, this version knows ${known})`;
  const copy = copyOfSchema(path, known);
  const way =
    copy === null
      ? 'upgrade the program.'
      : `upgrade the program, or give up what was written since the upgrade: "profilectl --db ${path} db restore ${copy}" puts the copy back that was made before it.`;
  return fileRefusal(`${made}; ${way}`);
}

/** The newest copy that was made beside a database before its schema was raised above `known`, or null. */
function copyOfSchema(path: string, known: number): string | null {
  const file = realPath(path);
  const start = `${basename(file)}.before-schema-`;
  const copies = namesIn(dirname(file)).flatMap((name) => {
    const [, schema, time] =
      /^(\d+)-(\d{8}T\d{6}\.\d{3}Z)$/.exec(name.startsWith(start) ? name.slice(start.length) : '') ?? [];
    return schema !== undefined && time !== undefined && Number(schema) <= known + 1 ? [{ name, time }] : [];
  });
  const newest = copies.sort((a, b) => (a.time < b.time ? 1 : -1))[0];
  return newest === undefined ? null : join(dirname(file), newest.name);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Brings a database to the newest schema. Any number of processes may call it at once: each reads the version inside
 * the immediate transaction that changes it, so every step is applied exactly once. Foreign keys are checked before the
 * commit. Before an existing database changes, `beforeUpgrade` is called inside that transaction with the number of
 * migrations in the database. Nobody else can write then, and if it throws, the database stays as it was.
 */
export function migrate(
  sqlite: Sqlite,
  path: string,
  migrations = MIGRATIONS,
  beforeUpgrade: (applied: number) => void = () => {},
): void {
  if (schemaState(sqlite, path, migrations) === 'current') return;
  // Migrations that rebuild a table need foreign keys off, and the pragma does nothing inside a transaction.
  sqlite.run('PRAGMA foreign_keys = OFF');
  try {
    sqlite.transaction(() => applyMissing(sqlite, path, migrations, beforeUpgrade)).immediate();
  } finally {
    sqlite.run('PRAGMA foreign_keys = ON');
  }
}

function applyMissing(
  sqlite: Sqlite,
  path: string,
  migrations: readonly Migration[],
  beforeUpgrade: (applied: number) => void,
): void {
  const state = schemaState(sqlite, path, migrations);
  if (state === 'new') sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  if (state === 'older') beforeUpgrade(appliedMigrations(sqlite));
  applyMigrations(sqlite, migrations);
  if (sqlite.query('PRAGMA foreign_key_check').all().length > 0) {
    throw fileRefusal(`Migrating ${path} would break its foreign keys; nothing was changed.`);
  }
}

/** Applies the migrations that a file has not, inside a transaction of the caller; a file without any gets all. */
export function applyMigrations(sqlite: Sqlite, migrations: readonly Migration[]): void {
  sqlite.run(
    'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
  );
  for (const migration of migrations.slice(appliedMigrations(sqlite))) {
    for (const statement of migration.sql.split('--> statement-breakpoint')) sqlite.run(statement);
    sqlite.run("INSERT INTO migrations (name, sha256, applied_at) VALUES (?, ?, unixepoch('now') * 1000)", [
      migration.name,
      sha256(migration),
    ]);
  }
}

/** How many migrations a database of this program has, which is the number of its schema. */
export function appliedMigrations(sqlite: Sqlite): number {
  const { done } = sqlite.query('SELECT count(*) AS done FROM migrations').get() as { done: number };
  return done;
}

function sha256(migration: Migration): string {
  return new Bun.CryptoHasher('sha256').update(migration.sql).digest('hex');
}
