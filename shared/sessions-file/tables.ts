import type { Sqlite } from '../db/connect.ts';
import { applyMigrations, compareMigrations } from '../db/migrate.ts';
import type { Random } from '../random.ts';
import { SESSIONS_MIGRATIONS } from './migrations.ts';

// What is in a sessions file: whose file it is, and its tables, which the migrations in drizzle/sessions make.

/** The application id in the file's header, "PLS3". A file with another id is not touched, but for the two former ones. */
const APPLICATION_ID = 0x504c5333;

/** The id of files without migrations, "PLS2". Some of their tables are replaced: then everybody signs in again. */
const REPLACED_ID = 0x504c5332;

/** The id of files of which nothing is kept, "PLS1". */
const DROPPED_ID = 0x504c5331;

/** The tables of a former file that are kept with their rows: the file's key, limits on mails, known browsers and the like. */
const KEPT = ['settings', 'mail_counts', 'known_browsers', 'token_uses', 'untold_sign_ins'];

/** The name of the setting that is the file's random key. */
export const FILE_KEY = 'key';

/** The message of the error for a file that is not ours. */
export const NOT_OURS = 'not a sessions file of this version';

/**
 * Throws an error with the message {@link NOT_OURS} for another program's file and for one of a newer version. Runs before
 * anything is written, so that such a file stays as it is.
 */
export function refuseForeign(sqlite: Sqlite): void {
  const id = applicationIdOf(sqlite);
  const isOurs = id === 0 ? tablesOf(sqlite).length === 0 : [APPLICATION_ID, REPLACED_ID, DROPPED_ID].includes(id);
  if (!isOurs) throw new Error(NOT_OURS);
  if (id !== APPLICATION_ID) return;
  const { applied, changed } = compareMigrations(sqlite, SESSIONS_MIGRATIONS);
  if (applied > SESSIONS_MIGRATIONS.length || changed !== null) throw new Error(NOT_OURS);
}

/** Whether the file has every migration, so that opening it writes nothing. */
export function isCurrent(sqlite: Sqlite): boolean {
  if (applicationIdOf(sqlite) !== APPLICATION_ID) return false;
  return compareMigrations(sqlite, SESSIONS_MIGRATIONS).applied === SESSIONS_MIGRATIONS.length;
}

/**
 * Makes the tables that a file has not, inside an immediate transaction of the caller. Of several processes that open a file
 * at once the first one makes them.
 */
export function makeTables(sqlite: Sqlite, random: Random): void {
  const id = applicationIdOf(sqlite);
  if (id === REPLACED_ID || id === DROPPED_ID) {
    const kept = id === REPLACED_ID ? KEPT : [];
    for (const name of tablesOf(sqlite)) if (!kept.includes(name)) sqlite.run(`DROP TABLE "${name}"`);
  }
  sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  applyMigrations(sqlite, SESSIONS_MIGRATIONS);
  sqlite.run('INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)', [FILE_KEY, random(32)]);
}

function applicationIdOf(sqlite: Sqlite): number {
  return (sqlite.query('SELECT application_id AS id FROM pragma_application_id').get() as { id: number }).id;
}

function tablesOf(sqlite: Sqlite): string[] {
  return sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all()
    .map(({ name }) => name);
}
