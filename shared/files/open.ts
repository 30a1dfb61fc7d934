import { existsSync } from 'node:fs';
import { leaveLogAlone, type Opened, openFile, orClose, type Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { MIGRATIONS, migrate, type SchemaState, schemaState } from '../db/migrate.ts';
import { foreignOwner } from '../db/owner.ts';
import { type AppError, fileRefusal } from '../errors.ts';
import { copyBeforeMigration } from './copy.ts';
import { refuseServed } from './lock.ts';

/**
 * How a process uses the database. `serve` creates and migrates it; `fill` (import, demo) creates it but does not
 * migrate an existing one; `use` (nearly all other commands) and `pages` (the server's second connection, which writes) require it to
 * exist with the current schema; `look` (backup, check) accepts an older schema too.
 */
export type OpenMode = 'serve' | 'fill' | 'use' | 'pages' | 'look';

/**
 * How long a connection waits for another's write lock: briefly in the server, where the wait blocks all requests, which
 * therefore try again themselves (`whenFree`); for minutes in an import, which lets others go first.
 */
const BUSY_TIMEOUT_MS = { serve: 300, fill: 600_000, use: 10_000, pages: 50, look: 10_000 } as const;

/**
 * How long a process waits while another one copies and migrates the database. The server waits too, because it does
 * not serve yet.
 */
const MIGRATION_TIMEOUT_MS = 600_000;

/**
 * Opens the main database. Throws `refused`, with the path, if it is missing, belongs to another program, has a newer schema,
 * or has an older schema that this mode must not migrate or that a running server uses, and `busy` if it stays locked. New
 * files get mode 0600, a new folder 0700. An existing database is copied before it is migrated, and `onCopied` is called with
 * the path of the copy. With `mustExist` a missing or empty file is refused in every mode.
 */
export function openDatabase(
  path: string,
  mode: OpenMode,
  onCopied = (_copy: string) => {},
  mustExist = false,
): Opened {
  const isNeeded = mustExist || mode === 'use' || mode === 'pages' || mode === 'look';
  if (isNeeded && !existsSync(path)) throw missingDatabase(path, mode);
  return guardDatabase(path, () => {
    const sqlite = openFile(path, BUSY_TIMEOUT_MS[mode], { check: (found) => schemaState(found, path) });
    return orClose(sqlite, () => {
      const state = schemaState(sqlite, path);
      if (isNeeded && state === 'new') throw missingDatabase(path, mode);
      if (mayMigrate(mode, state)) {
        // A server of the previous version has it open, and would answer every request with an error.
        if (state === 'older') refuseServed(path);
        migrateAsOne(sqlite, path, BUSY_TIMEOUT_MS[mode], onCopied);
      } else if (state === 'older' && mode !== 'look') {
        const sentence = `The database ${path} has an older schema; "profilectl serve" migrates it when it starts.`;
        throw fileRefusal(sentence);
      }
      if (mode === 'serve' || mode === 'pages') leaveLogAlone(sqlite);
      return { $client: sqlite };
    });
  });
}

function missingDatabase(path: string, mode: OpenMode): AppError {
  const make =
    'Create one with "profilectl profiles import" or "profilectl serve", or name another with --db or DATABASE_PATH.';
  const mount =
    "No database is created, because DATABASE_MUST_EXIST is on: mount the database's volume, or set the variable to off for the first start.";
  const missing = `There is no database at ${path}. ${mode === 'serve' ? mount : make}`;
  return fileRefusal(foreignOwner(path) ?? missing);
}

function mayMigrate(mode: OpenMode, state: SchemaState): boolean {
  return state !== 'current' && (mode === 'serve' || (mode === 'fill' && state === 'new'));
}

/** Migrates, or waits while another process does. */
function migrateAsOne(sqlite: Sqlite, path: string, busyTimeoutMs: number, onCopied: (copy: string) => void): void {
  sqlite.run(`PRAGMA busy_timeout = ${MIGRATION_TIMEOUT_MS}`);
  migrate(sqlite, path, MIGRATIONS, (applied) => onCopied(copyBeforeMigration(path, applied)));
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
}
