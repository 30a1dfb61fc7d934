import first from '../../drizzle/0001.sql' with { type: 'text' };
import { type AppError, fileRefusal } from '../errors.ts';
import { leaveLogAlone, type Opening, openFile, type Sqlite } from './connect.ts';
import { guardDatabase } from './faults.ts';

/**
 * The application id in the file's header, "PLK1". A file with another id belongs to another program and is never
 * changed.
 */
export const APPLICATION_ID = 0x504c4b31;

/**
 * The files of drizzle/ in order, each applied once; `PRAGMA user_version` counts those that a database has. Never
 * edit one after release.
 */
export const MIGRATIONS: readonly string[] = [first];

/** How a database's schema compares with that of this program. */
export type SchemaState = 'new' | 'older' | 'current';

/** Throws `refused` if the file is another program's or was made by a newer version. */
export function schemaState(sqlite: Sqlite, path: string, migrations = MIGRATIONS): SchemaState {
  // One statement reads all values from one snapshot: another process may be creating the tables.
  const { id, version, tables } = sqlite
    .query(
      `SELECT application_id AS id, user_version AS version, (SELECT count(*) FROM sqlite_schema) AS tables
        FROM pragma_application_id, pragma_user_version`,
    )
    .get() as { id: number; version: number; tables: number };
  if (tables === 0 && id === 0) return 'new';
  if (id !== APPLICATION_ID || version < 1) throw fileRefusal(`${path} is not a Profile Lookup database.`);
  if (version > migrations.length) throw newerDatabase(path, version, migrations.length);
  return version < migrations.length ? 'older' : 'current';
}

/** How many migrations a file has. */
export function schemaVersion(sqlite: Sqlite): number {
  return (sqlite.query('PRAGMA user_version').get() as { user_version: number }).user_version;
}

function newerDatabase(path: string, applied: number, known: number): AppError {
  const made = `The database ${path} was made by a newer version of Profile Lookup (schema ${applied}, this version knows ${known})`;
  const way = `upgrade the program, or restore the copy that was made before the upgrade, ${path}.before-schema-*, which has nothing written since`;
  return fileRefusal(`${made}; ${way}.`);
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
  migrations: readonly string[],
  beforeUpgrade: (applied: number) => void,
): void {
  const state = schemaState(sqlite, path, migrations);
  if (state === 'current') return;
  if (state === 'new') sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  else beforeUpgrade(schemaVersion(sqlite));
  applyMigrations(sqlite, migrations);
  if (sqlite.query('PRAGMA foreign_key_check').all().length > 0) {
    throw fileRefusal(`Migrating ${path} would break its foreign keys; nothing was changed.`);
  }
}

/** Applies the migrations that a file lacks, inside the caller's transaction. */
function applyMigrations(sqlite: Sqlite, migrations: readonly string[]): void {
  for (const migration of migrations.slice(schemaVersion(sqlite))) sqlite.run(migration);
  sqlite.run(`PRAGMA user_version = ${migrations.length}`);
}

/** Whether the database is open, belongs to this program, and has this version's schema. Never throws. */
export function isReady(sqlite: Sqlite): boolean {
  try {
    return schemaState(sqlite, sqlite.filename) === 'current';
  } catch {
    return false;
  }
}

/**
 * Opens another connection to an existing main database with the current schema. By default it does not wait for locks.
 * Throws `refused` for any other file, and `busy`. Never creates a file, so a database that was removed is not replaced
 * by an empty one.
 */
export function openBeside(path: string, busyTimeoutMs = 0, opening: Pick<Opening, 'isDurable'> = {}): Sqlite {
  const check = (sqlite: Sqlite) => {
    if (schemaState(sqlite, path) !== 'current') throw fileRefusal(`The database ${path} is not current.`);
  };
  return guardDatabase(path, () => {
    const sqlite = openFile(path, busyTimeoutMs, { ...opening, check, create: false });
    leaveLogAlone(sqlite);
    return sqlite;
  });
}
