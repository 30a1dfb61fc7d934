import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { userName } from '../actor.ts';
import { isoTime, systemClock } from '../clock.ts';
import { beginSnapshot, type Db, openAsItIs, type Sqlite } from '../db/connect.ts';
import { readFact, storeFact } from '../db/facts.ts';
import { databaseFault, hasFailedOnDisk, isDamage } from '../db/faults.ts';
import { databaseFiles, realPath } from '../db/file.ts';
import { schemaState, schemaVersion } from '../db/migrate.ts';
import { write } from '../db/write.ts';
import { AppError, fileRefusal } from '../errors.ts';

/** The contents of an intact database file. `schema` is the number of its migrations. */
export type Verified = { bytes: number; profiles: number; keys: number; schema: number };

/**
 * Reads a whole database file and checks that it is a database of this program, has a known schema, is undamaged, and
 * has no dangling references. Throws `refused` with the problem. A user's file is opened to `read`, so it stays
 * unchanged; a new copy to `write`, because SQLite checks CHECK constraints only on a writable connection. Errors call
 * the file `name`: for a copy under a temporary name, the name of its source.
 */
export function verifyFile(path: string, access: 'read' | 'write', name = path): Verified {
  return withFault(name, name, () => {
    using sqlite = openAsItIs(path, access);
    if (schemaState(sqlite, name) === 'new')
      throw fileRefusal(`${name} is not a Profile Lookup database: it is empty.`);
    const [damage] = damages(sqlite);
    if (damage !== undefined && hasFailedOnDisk(sqlite)) {
      throw fileRefusal(`${name} can't be read completely, because its disk failed; check the disk, and try again.`);
    }
    if (damage !== undefined) throw fileRefusal(`${name} is damaged: ${damage}.`);
    return { bytes: statSync(path).size, ...countRows(sqlite), schema: schemaVersion(sqlite) };
  });
}

/** The problems that SQLite finds in a database: pages, indexes and CHECK constraints; without any, foreign keys. */
function damages(sqlite: Sqlite): string[] {
  try {
    const pages = sqlite.query('PRAGMA integrity_check').all() as { integrity_check: string }[];
    const faults = pages.map((row) => row.integrity_check).filter((text) => text !== 'ok');
    if (faults.length > 0) return faults;
    const references = sqlite.query('PRAGMA foreign_key_check').all() as { table: string; parent: string }[];
    return references.map(({ table, parent }) => `a row of ${table} refers to a missing row of ${parent}`);
  } catch (error) {
    // Some damage keeps SQLite from describing it.
    if (isDamage(error)) return [(error as Error).message];
    throw error;
  }
}

/**
 * Checks pages, indexes, references and CHECK constraints, one of which says that each approved key has the hash of its
 * secret. Each fault is a clause without private data. Everything is read from one snapshot, so others may write
 * meanwhile. Throws `busy`, and `refused` for a file that can't be read, or not written: SQLite would skip CHECK constraints.
 */
export function checkDatabase({ $client: sqlite }: Db): { faults: string[]; profiles: number; keys: number } {
  const { filename } = sqlite;
  try {
    accessSync(filename, constants.W_OK);
  } catch (error) {
    throw fileRefusal(
      `${filename} may only be read, so not all of it can be checked; copy it, and check the copy.`,
      error,
    );
  }
  using _ = beginSnapshot(sqlite);
  const faults = damages(sqlite);
  // Damaged pages can't be counted.
  return faults.length > 0 ? { faults, profiles: 0, keys: 0 } : { faults, ...countRows(sqlite) };
}

function countRows(sqlite: Sqlite): { profiles: number; keys: number } {
  return sqlite
    .query('SELECT (SELECT count(*) FROM profiles) AS profiles, (SELECT count(*) FROM api_keys) AS keys')
    .get() as { profiles: number; keys: number };
}

/**
 * Copies a snapshot of a database to a new file of mode 0600, while others may write. The copy has no sign-ins and no
 * waiting mails. It is verified and on the disk before it gets its name. `onStep` is called at the beginning of each
 * step. Throws `refused`, and leaves no file behind, if the name is taken, the disk is full, or the copy is damaged.
 */
export function copyDatabase(sqlite: Sqlite, target: string, onStep: (step: 'copy' | 'verify') => void): Verified {
  const unfinished = `${target}.unfinished`;
  return withFault(sqlite.filename, target, () => {
    refuseExisting(target);
    // SQLite, a server or a restore would delete the copy or take it for its own.
    if (databaseFiles(sqlite.filename).includes(join(realpathSync(dirname(target)), basename(target)))) {
      throw fileRefusal(`${target} would be a file of the database itself; choose another name.`);
    }
    try {
      closeSync(openSync(unfinished, 'wx', 0o600));
    } catch (error) {
      throw (error as { code?: string }).code === 'EEXIST' ? unfinishedCopy(unfinished) : error;
    }
    try {
      const verified = copyInto(sqlite, unfinished, sqlite.filename, onStep);
      syncPath(unfinished);
      refuseExisting(target);
      renameSync(unfinished, target);
      syncPath(dirname(target));
      return verified;
    } catch (error) {
      removeUnfinished(unfinished);
      throw error;
    }
  });
}

/**
 * Copies a snapshot of a database, without sign-ins and waiting mails, into an empty file, and verifies the copy.
 * Errors call the copy `name`. Throws `refused` if it is damaged, and SQLite's errors.
 */
export function copyInto(
  sqlite: Sqlite,
  unfinished: string,
  name: string,
  onStep: (step: 'copy' | 'verify') => void = () => {},
): Verified {
  onStep('copy');
  sqlite.prepare('VACUUM INTO ?').run(unfinished);
  withCopy(unfinished, (copy) => {
    // A sign-in may have ended since, and a mail may have been sent.
    copy.run("DELETE FROM sign_ins; DELETE FROM tickets; DELETE FROM mails WHERE result = 'waiting'");
  });
  onStep('verify');
  return verifyFile(unfinished, 'write', name);
}

/** Removes a copy that could not be finished, and the journal that SQLite leaves beside it on a full disk. */
export function removeUnfinished(unfinished: string): void {
  for (const suffix of ['', '-journal']) rmSync(unfinished + suffix, { force: true });
}

/** Changes a copy that nobody else has open. Nothing is on the disk before the caller's {@link syncPath}. */
export function withCopy<T>(unfinished: string, act: (copy: Sqlite) => T): T {
  using copy = openAsItIs(unfinished, 'write');
  copy.run('PRAGMA journal_mode = MEMORY');
  copy.run('PRAGMA synchronous = OFF');
  return act(copy);
}

/** When the last scheduled backup was made, and to which file. */
export type LastBackup = { at: string; file: string };

/**
 * Records that a timer has just made a backup: `status` warns if that has not happened for long. Backups that people
 * make by hand are not recorded, since they say nothing about the timer.
 */
export function recordBackup(db: Db, file: string): void {
  const last: LastBackup = { at: isoTime(systemClock.nowMs()), file: resolve(file) };
  write(db, (tx) => storeFact(tx.$client, 'last backup', JSON.stringify(last)));
}

/** The last scheduled backup; null if there was none. */
export function readLastBackup(sqlite: Sqlite): LastBackup | null {
  return JSON.parse(readFact(sqlite, 'last backup') ?? 'null') as LastBackup | null;
}

/** Copies a database before its migration to `<database>.before-schema-2-<UTC time>`. Returns the copy's path. */
export function copyBeforeMigration(path: string, applied: number): string {
  const target = `${realPath(path)}.before-schema-${applied + 1}-${fileTime()}`;
  // The caller's connection is inside a transaction, where SQLite refuses VACUUM, so the copy needs its own connection.
  using sqlite = openAsItIs(path, 'read');
  copyDatabase(sqlite, target, () => {});
  return target;
}

/** The current UTC time for a file's name: `20260101T000000.000Z`. */
export function fileTime(): string {
  return isoTime(systemClock.nowMs()).replace(/[-:]/g, '');
}

/** Throws `refused` if the path exists, because commands never overwrite files, or if its folder does not exist. */
function refuseExisting(path: string): void {
  // A link to nowhere counts, too.
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
    throw fileRefusal(`${path} already exists and is not overwritten; choose another name.`);
  }
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw fileRefusal(`There is no folder ${dirname(path)}.`);
  }
}

function unfinishedCopy(path: string): AppError {
  return fileRefusal(
    `${path} exists: another backup of this name is being made, or one was killed. If none is running, remove that file and try again.`,
  );
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
    const { code = '' } = error as NodeJS.ErrnoException;
    if (/^(EACCES|EPERM|EROFS)$/.test(code)) {
      throw fileRefusal(`${target} can't be written by ${userName()} (${code}); choose another folder.`, error);
    }
    throw databaseFault(isDamage(error) ? source : target, error) ?? error;
  }
}
