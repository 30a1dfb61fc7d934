import first from '../../drizzle/sessions/0001.sql' with { type: 'text' };
import { isEmpty, readApplicationId, writeApplicationId } from '../db/catalog.ts';
import type { Sqlite } from '../db/connect.ts';
import { applyMigrations, schemaVersion } from '../db/migrate.ts';
import { withTables } from '../db/tables.ts';
import type { Random } from '../random.ts';
import { settings } from './schema.ts';

// The contents of a sessions file: its application id, and its tables, which the migrations in drizzle/sessions create.

/** The application id in the file's header, "PLS3". A file with another id is never changed. */
const APPLICATION_ID = 0x504c5333;

/** The files of drizzle/sessions in order. Never edit one after release. */
export const SESSIONS_MIGRATIONS: readonly string[] = [first];

/** The name of the setting with the file's random key. */
export const FILE_KEY = 'key';

/** The error message for a file that is not ours. */
export const NOT_OURS = 'not a sessions file of this version';

/**
 * Throws an error with the message {@link NOT_OURS} for a file of another program or a newer version. Runs before anything is written, so that such a file stays unchanged.
 */
export function refuseForeign(sqlite: Sqlite): void {
  const id = readApplicationId(sqlite);
  if (id === 0 && isEmpty(sqlite)) return;
  const version = schemaVersion(sqlite);
  if (id !== APPLICATION_ID || version < 1 || version > SESSIONS_MIGRATIONS.length) throw new Error(NOT_OURS);
}

/** Whether the file has the newest schema, so that opening it writes nothing. */
export function isCurrent(sqlite: Sqlite): boolean {
  return readApplicationId(sqlite) === APPLICATION_ID && schemaVersion(sqlite) === SESSIONS_MIGRATIONS.length;
}

/**
 * Creates missing tables, inside the caller's immediate transaction: if several processes open a file at the same time,
 * the first one creates them.
 */
export function makeTables(sqlite: Sqlite, random: Random): void {
  writeApplicationId(sqlite, APPLICATION_ID);
  applyMigrations(sqlite, SESSIONS_MIGRATIONS);
  const key = { name: FILE_KEY, value: Buffer.from(random(32)) };
  withTables({ $client: sqlite }).insert(settings).values(key).onConflictDoNothing().run();
}
