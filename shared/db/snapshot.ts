import {
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { isoTime, systemClock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { openBare, type Sqlite } from './connect.ts';
import { realPath } from './disk.ts';
import { databaseFault } from './faults.ts';
import { appliedMigrations, schemaState } from './migrate.ts';

/** What a sound database file holds; `schema` is the number of its migrations, and `isOlder` whether more are known. */
export type Verified = { bytes: number; profiles: number; keys: number; schema: number; isOlder: boolean };

/**
 * Reads a whole database file: is it ours, of a schema that this program knows, undamaged, and do its references hold?
 * Throws `refused` with what is wrong. A file of somebody's is opened to read, which leaves it as it is; one that we just
 * made to write, since SQLite looks at CHECK constraints only on a connection that could. A copy is called by the `name`
 * of what it is a copy of.
 */
export function verifyFile(path: string, access: 'read' | 'write', name = path): Verified {
  return withFault(name, name, () => {
    const sqlite = openBare(path, access);
    try {
      const state = schemaState(sqlite, name);
      if (state === 'new') throw new AppError('refused', `${name} is not a Profile Lookup database: it is empty.`);
      const [damage] = damages(sqlite);
      if (damage !== undefined) throw new AppError('refused', `${name} is damaged: ${damage}.`);
      const schema = appliedMigrations(sqlite);
      const counts = schema === 0 ? { profiles: 0, keys: 0 } : countRows(sqlite);
      return { bytes: statSync(path).size, ...counts, schema, isOlder: state === 'older' };
    } finally {
      sqlite.close();
    }
  });
}

/** What SQLite itself finds wrong with a database: its pages, indexes and checks, then its references. */
export function damages(sqlite: Sqlite): string[] {
  const pages = sqlite.query('PRAGMA integrity_check').all() as { integrity_check: string }[];
  const references = sqlite.query('PRAGMA foreign_key_check').all() as { table: string; parent: string }[];
  return [
    ...pages.map((row) => row.integrity_check).filter((text) => text !== 'ok'),
    ...references.map(({ table, parent }) => `a row of ${table} refers to a row of ${parent} that is not there`),
  ];
}

/** How many profiles and keys there are. */
export function countRows(sqlite: Sqlite): { profiles: number; keys: number } {
  return sqlite
    .query('SELECT (SELECT count(*) FROM profiles) AS profiles, (SELECT count(*) FROM api_keys) AS keys')
    .get() as { profiles: number; keys: number };
}

/**
 * Copies a database to a file of its own, consistently however many write to it, mode 0600. The copy is verified and on
 * disk before it has its name. `onStep` hears what is under way. Throws `refused`, and leaves nothing behind, where the
 * name is taken, there is no room, or the copy is not sound.
 */
export function copyDatabase(sqlite: Sqlite, target: string, onStep: (step: 'copy' | 'verify') => void): Verified {
  refuseExisting(target);
  const temporary = `${target}.${crypto.randomUUID()}.unfinished`;
  return withFault(sqlite.filename, target, () => {
    closeSync(openSync(temporary, 'wx', 0o600));
    try {
      onStep('copy');
      sqlite.prepare('VACUUM INTO ?').run(temporary);
      onStep('verify');
      const verified = verifyFile(temporary, 'write', sqlite.filename);
      giveToOwnerOf(sqlite.filename, temporary);
      syncPath(temporary);
      giveName(temporary, target);
      return verified;
    } finally {
      rmSync(temporary, { force: true });
    }
  });
}

/** The copy that is made before a migration: `<database>.before-schema-2-<UTC time>`. Returns its path. */
export function copyBeforeMigration(path: string, applied: number): string {
  const target = `${realPath(path)}.before-schema-${applied + 1}-${fileTime()}`;
  // On a connection of its own: the caller's holds the write lock, under which nothing can be vacuumed.
  const sqlite = openBare(path, 'read');
  try {
    copyDatabase(sqlite, target, () => {});
  } finally {
    sqlite.close();
  }
  return target;
}

/** The time of now for a file's name: `20260101T000000.000Z`. */
export function fileTime(): string {
  return isoTime(systemClock.nowMs()).replace(/[-:]/g, '');
}

/** Throws `refused` where something has this name already: no command of ours overwrites a file it was given. */
export function refuseExisting(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw isTaken(path);
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new AppError('refused', `There is no folder ${dirname(path)}.`);
  }
}

/** Moves a finished file to its name, unless something has it by now, and puts the name on disk. */
function giveName(temporary: string, target: string): void {
  try {
    linkSync(temporary, target);
    unlinkSync(temporary);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw isTaken(target);
    // Some file systems have no hard links.
    renameSync(temporary, target);
  }
  syncPath(dirname(target));
}

function isTaken(path: string): AppError {
  return new AppError('refused', `${path} is there already, and nothing is overwritten; name another file.`);
}

/** What root makes beside a service's database belongs to the service, which could not read it otherwise. */
export function giveToOwnerOf(like: string, path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(like);
  chownSync(path, uid, gid);
}

/** Waits until a file, or a folder's list of names, is on disk. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Blames a damaged source on the source, and everything else on the file that is being made. */
function withFault<T>(source: string, target: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = (error as { code?: string }).code ?? '';
    throw databaseFault(/^SQLITE_(CORRUPT|NOTADB)/.test(code) ? source : target, error) ?? error;
  }
}
