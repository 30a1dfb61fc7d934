import { closeSync, fsyncSync, lstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isoTime, systemClock } from '../clock.ts';
import { openBare, type Sqlite } from '../db/connect.ts';
import { databaseFault, hasFailedOnDisk, isDamage } from '../db/faults.ts';
import { schemaState, schemaVersion } from '../db/migrate.ts';
import { giveToOwnerOf } from '../db/owner.ts';
import { realPath } from '../db/real-path.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { giveName } from '../give-name.ts';
import { isDatabaseFile } from './database-files.ts';
import { strangeSchema } from './schema-objects.ts';
import { withUnfinished } from './unfinished.ts';

/**
 * The contents of an intact database file. `schema` is the number of its migrations; `isOlder` means that this program
 * has more.
 */
export type Verified = { bytes: number; profiles: number; keys: number; schema: number; isOlder: boolean };

/**
 * Reads a whole database file and checks that it is a database of this program, has a known schema, is undamaged, and
 * has no dangling references. Throws `refused` with the problem. A user's file is opened to `read`, so it stays
 * unchanged; it must have the tables and triggers of its schema, and no other triggers. A new copy is opened to
 * `write`, because SQLite checks CHECK constraints only on a writable connection. Errors call the file `name`: for a
 * temporary copy, the name of its source.
 */
export function verifyFile(path: string, access: 'read' | 'write', name = path): Verified {
  return withFault(name, name, () => {
    using sqlite = openBare(path, access);
    const state = schemaState(sqlite, name);
    if (state === 'new') throw fileRefusal(`${name} is not a Profile Lookup database: it is empty.`);
    const [damage] = damages(sqlite);
    if (damage !== undefined && hasFailedOnDisk(sqlite)) {
      throw fileRefusal(`${name} can't be read completely, because its disk failed; check the disk, and try again.`);
    }
    if (damage !== undefined) throw fileRefusal(`${name} is damaged: ${damage}.`);
    const strange = access === 'read' ? strangeSchema(sqlite) : null;
    if (strange !== null) throw fileRefusal(`${name} was changed outside of this program: ${strange}.`);
    const schema = schemaVersion(sqlite);
    return { bytes: statSync(path).size, ...countRows(sqlite), schema, isOlder: state === 'older' };
  });
}

/** The problems that SQLite finds in a database: pages, indexes and CHECK constraints, then foreign keys. */
export function damages(sqlite: Sqlite): string[] {
  const pages = sqlite.query('PRAGMA integrity_check').all() as { integrity_check: string }[];
  const references = sqlite.query('PRAGMA foreign_key_check').all() as { table: string; parent: string }[];
  return [
    ...pages.map((row) => row.integrity_check).filter((text) => text !== 'ok'),
    ...references.map(({ table, parent }) => `a row of ${table} refers to a missing row of ${parent}`),
  ];
}

/** Counts the profiles and keys of a database. */
export function countRows(sqlite: Sqlite): { profiles: number; keys: number } {
  return sqlite
    .query('SELECT (SELECT count(*) FROM profiles) AS profiles, (SELECT count(*) FROM api_keys) AS keys')
    .get() as { profiles: number; keys: number };
}

/**
 * Copies a snapshot of a database to a new file of mode 0600, while others may write. The copy is verified and flushed
 * to the disk before it gets its name. `onStep` is called at the beginning of each step. Throws `refused`, and leaves
 * no file behind, if the name is taken or belongs to a database, the disk is full, or the copy is damaged.
 */
export function copyDatabase(sqlite: Sqlite, target: string, onStep: (step: 'copy' | 'verify') => void): Verified {
  refuseExisting(target);
  if (isDatabaseFile(target, sqlite.filename)) {
    throw fileRefusal(`${target} is the name of a database's file; choose another name.`);
  }
  return withFault(sqlite.filename, target, () =>
    withUnfinished(sqlite.filename, target, (temporary) => {
      const verified = copyInto(sqlite, temporary, sqlite.filename, onStep);
      giveToOwnerOf(sqlite.filename, temporary);
      syncPath(temporary);
      if (!giveName(temporary, target)) throw isTaken(target);
      syncPath(dirname(target));
      return verified;
    }),
  );
}

/**
 * Copies a snapshot of a database to a new file of mode 0600, and verifies the copy. Errors call the copy `name`.
 * Throws `refused` if it is damaged, and SQLite's errors.
 */
export function copyInto(
  sqlite: Sqlite,
  temporary: string,
  name: string,
  onStep: (step: 'copy' | 'verify') => void = () => {},
): Verified {
  closeSync(openSync(temporary, 'wx', 0o600));
  onStep('copy');
  sqlite.prepare('VACUUM INTO ?').run(temporary);
  onStep('verify');
  return verifyFile(temporary, 'write', name);
}

/** Copies a database before its migration to `<database>.before-schema-2-<UTC time>`. Returns the copy's path. */
export function copyBeforeMigration(path: string, applied: number): string {
  const target = `${realPath(path)}.before-schema-${applied + 1}-${fileTime()}`;
  // The caller's connection is inside a transaction, where SQLite refuses VACUUM, so the copy needs its own connection.
  using sqlite = openBare(path, 'read');
  copyDatabase(sqlite, target, () => {});
  return target;
}

/** The current UTC time for a file's name: `20260101T000000.000Z`. */
export function fileTime(): string {
  return isoTime(systemClock.nowMs()).replace(/[-:]/g, '');
}

/** Throws `refused` if the path exists, because commands never overwrite files, or if its folder does not exist. */
export function refuseExisting(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw isTaken(path);
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw fileRefusal(`There is no folder ${dirname(path)}.`);
  }
}

function isTaken(path: string): AppError {
  return fileRefusal(`${path} already exists and is not overwritten; choose another name.`);
}

/** Flushes a file, or a folder's entries, to the disk. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Turns errors into AppErrors that name the source if the source is damaged, otherwise the new file. */
function withFault<T>(source: string, target: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw databaseFault(isDamage(error) ? source : target, error) ?? error;
  }
}
