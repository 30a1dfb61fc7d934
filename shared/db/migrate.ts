import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type AppError, fileRefusal } from '../errors.ts';
import { writeApplicationId } from './catalog.ts';
import type { Sqlite } from './connect.ts';
import { LAST_UNRELEASED_COMMIT, MIGRATIONS, type Migration } from './migrations.ts';
import { realPath } from './real-path.ts';

/**
 * The application id in the file's header, "PLK1". A file with another id belongs to another program and is never
 * changed.
 */
export const APPLICATION_ID = 0x504c4b31;

/** How a database's schema compares with that of this program. */
export type SchemaState = 'new' | 'older' | 'current';

/**
 * Compares a database with the known migrations; it is also `older` if only its list of migrations differs. Throws
 * `refused` if the file is another program's, was made by a newer version or before the first one, or has migrations
 * that differ from the released ones.
 */
export function schemaState(sqlite: Sqlite, path: string, migrations = MIGRATIONS): SchemaState {
  // One statement reads all values from one snapshot: another process may be creating the tables.
  const { id, tables, lists } = sqlite
    .query(
      `SELECT (SELECT count(*) FROM sqlite_schema) AS tables,
        (SELECT count(*) FROM sqlite_schema WHERE name = 'migrations') AS lists, application_id AS id FROM pragma_application_id`,
    )
    .get() as { id: number; tables: number; lists: number };
  if (tables === 0 && id === 0) return 'new';
  if (id !== APPLICATION_ID || lists === 0) throw fileRefusal(`${path} is not a Profile Lookup database.`);
  const { applied, list, changed } = compareMigrations(sqlite, migrations);
  if (list === 'unreleased') throw unreleasedDatabase(path);
  if (applied > migrations.length) throw newerDatabase(path, applied, migrations.length);
  if (changed !== null)
    throw fileRefusal(`The database ${path} has a different migration ${changed} than this version.`);
  return list === 'replaced' || applied < migrations.length ? 'older' : 'current';
}

/**
 * The result of comparing the list of migrations in a file with the known ones: how many were applied, and the name of
 * the first that differs, or null. A `replaced` list is the complete one from before version 0.1.0, which the first
 * migration replaces: it counts as that one migration. An `unreleased` list is an incomplete or earlier one.
 */
export type Compared = { applied: number; list: 'known' | 'replaced' | 'unreleased'; changed: string | null };

/** Compares the list of migrations in a file with the known ones. */
export function compareMigrations(sqlite: Sqlite, migrations: readonly Migration[]): Compared {
  const rows = sqlite
    .query<{ name: string; sha256: string }, []>('SELECT name, sha256 FROM migrations ORDER BY number')
    .all();
  const replaces = migrations[0]?.replaces;
  if (replaces?.firsts.includes(rows[0]?.sha256 ?? '')) {
    const isWhole = sha256(rows.map((row) => `${row.name} ${row.sha256}`).join('\n')) === replaces.all;
    return { applied: 1, list: isWhole ? 'replaced' : 'unreleased', changed: null };
  }
  const changed = rows.find((row, at) => {
    const known = migrations[at];
    return known !== undefined && row.sha256 !== sha256(known.sql);
  });
  return { applied: rows.length, list: 'known', changed: changed?.name ?? null };
}

function unreleasedDatabase(path: string): AppError {
  const way = `run "profilectl serve" of commit ${LAST_UNRELEASED_COMMIT} on it once, and then this version`;
  return fileRefusal(`The database ${path} was made before version 0.1.0 and can't be upgraded directly: ${way}.`);
}

function newerDatabase(path: string, applied: number, known: number): AppError {
  const made = `The database ${path} was made by a newer version of Profile Lookup (schema ${applied}, this version knows ${known})`;
  const copy = copyOfSchema(path, known);
  const way =
    copy === null
      ? 'upgrade the program.'
      : `upgrade the program, or discard everything written since the upgrade: "profilectl --db ${path} db restore ${copy}" restores the copy that was made before it.`;
  return fileRefusal(`${made}; ${way}`);
}

/**
 * The newest copy that was made beside a database before its schema was raised above `known`; null if there is none.
 */
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
 * Upgrades a database to the newest schema. Any number of processes may call it at once: each reads the version inside
 * the immediate transaction that changes it, so every step is applied exactly once. Foreign keys are checked before the
 * commit. Before the tables of an existing database change, `beforeUpgrade` is called inside that transaction, while
 * nobody else can write, with the number of applied migrations; if it throws, the database stays unchanged.
 */
export function migrate(
  sqlite: Sqlite,
  path: string,
  migrations = MIGRATIONS,
  beforeUpgrade: (applied: number) => void = () => {},
): void {
  if (schemaState(sqlite, path, migrations) === 'current') return;
  // Migrations that rebuild a table need foreign keys off, and the pragma has no effect inside a transaction.
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
  if (state === 'new') writeApplicationId(sqlite, APPLICATION_ID);
  const applied = state === 'older' ? appliedMigrations(sqlite, migrations) : migrations.length;
  if (applied < migrations.length) beforeUpgrade(applied);
  applyMigrations(sqlite, migrations);
  if (sqlite.query('PRAGMA foreign_key_check').all().length > 0) {
    throw fileRefusal(`Migrating ${path} would break its foreign keys; nothing was changed.`);
  }
}

/**
 * Applies the migrations that a file lacks, inside the caller's transaction. A list that the first migration replaces
 * is rewritten as that migration.
 */
export function applyMigrations(sqlite: Sqlite, migrations: readonly Migration[]): void {
  sqlite.run(
    'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
  );
  const note = ({ name, sql }: Migration) =>
    sqlite.run("INSERT INTO migrations (name, sha256, applied_at) VALUES (?, ?, unixepoch('now') * 1000)", [
      name,
      sha256(sql),
    ]);
  const { applied, list } = compareMigrations(sqlite, migrations);
  if (list === 'replaced') {
    sqlite.run('DELETE FROM migrations');
    migrations.slice(0, applied).forEach(note);
  }
  for (const migration of migrations.slice(applied)) {
    for (const statement of migration.sql.split('--> statement-breakpoint')) sqlite.run(statement);
    note(migration);
  }
}

/** The number of applied migrations, which is the version of the schema. */
export function appliedMigrations(sqlite: Sqlite, migrations = MIGRATIONS): number {
  return compareMigrations(sqlite, migrations).applied;
}

function sha256(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex');
}
