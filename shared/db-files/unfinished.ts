import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { openBare, type Sqlite } from '../db/connect.ts';
import { hasFailedOnDisk, isDamage } from '../db/faults.ts';
import { makeFileLike } from '../db/owner.ts';
import { realPath } from '../db/real-path.ts';
import { AppError } from '../errors.ts';
import { tryFileLock } from './file-lock.ts';

// A copy of a database has a name that ends with `.unfinished` until it is complete. The process that makes it holds
// the lock of a note beside the database, `<database>.unfinished-<id>`, an SQLite file with the path of the copy. The
// operating system releases the lock when the process ends, so an unlocked note means an abandoned copy. A process id
// would not prove that: ids are reused, and differ between containers.

/** How long to wait for a process that found a note before it was locked. */
const MAX_WAIT_MS = 10_000;

const SUFFIXES = ['', '-journal', '-wal', '-shm'] as const;

/**
 * Removes the leftovers of dead processes. Then calls `make` with the path `<target>.<id>.unfinished`, where it makes a
 * copy of the database, or a folder with one, and renames it once complete; anything left under that path is removed.
 * Returns the result of `make`. Throws its errors, and the errors of SQLite and the file system if no note can be made,
 * unless the copy is in another folder, perhaps because the disk of the database is full.
 */
export function withUnfinished<T>(databasePath: string, target: string, make: (path: string) => T): T {
  removeUnfinished(databasePath);
  const id = crypto.randomUUID();
  const copy = `${resolve(target)}.${id}.unfinished`;
  const note = `${databaseOf(databasePath)}.unfinished-${id}`;
  const lock = holdNote(databasePath, note, copy);
  try {
    return make(copy);
  } finally {
    try {
      removeCopy(copy);
      if (lock !== null) rmSync(note, { force: true });
    } catch {
      // The note stays, so that the next process tries again.
    } finally {
      lock?.close();
    }
  }
}

/** Lists the unfinished copies left by dead processes. Never throws. */
export function listUnfinished(databasePath: string): string[] {
  return leftovers(databasePath)
    .flatMap((found) => fromLeftover(found, 'read', (copy) => copy))
    .filter((copy) => SUFFIXES.some((suffix) => existsSync(copy + suffix)));
}

/** Removes the unfinished copies left by dead processes where possible, and returns their paths. Never throws. */
export function removeUnfinished(databasePath: string): string[] {
  return leftovers(databasePath).flatMap((found) =>
    fromLeftover(found, 'write', (copy) => {
      const isThere = copy !== null && existsSync(copy);
      if (copy !== null) removeCopy(copy);
      rmSync(found.path, { force: true });
      return isThere ? copy : null;
    }),
  );
}

function databaseOf(databasePath: string): string {
  return resolve(realPath(databasePath));
}

function removeCopy(path: string): void {
  for (const suffix of SUFFIXES) rmSync(path + suffix, { recursive: true, force: true });
}

/** Makes a note and returns the connection that holds its lock; null if the note can't be made but is not required. */
function holdNote(databasePath: string, note: string, copy: string): Sqlite | null {
  try {
    for (;;) {
      const lock = lockNewNote(databasePath, note, copy);
      // Another process may have found the note before it was locked.
      if (existsSync(note)) return lock;
      lock.close();
    }
  } catch (error) {
    rmSync(note, { force: true });
    if (dirname(copy) === dirname(note)) throw error;
    return null;
  }
}

function lockNewNote(databasePath: string, note: string, copy: string): Sqlite {
  makeFileLike(existsSync(databasePath) ? databasePath : dirname(note), note);
  const lock = tryFileLock(note, MAX_WAIT_MS, [
    // The lock is kept after the commit, until the connection is closed.
    'PRAGMA locking_mode = EXCLUSIVE',
    'BEGIN EXCLUSIVE',
    'CREATE TABLE copy (path TEXT NOT NULL) STRICT',
    `INSERT INTO copy (path) VALUES ('${copy.replaceAll("'", "''")}')`,
    'COMMIT',
  ]);
  if (lock === null) throw new AppError('busy', `Another process has locked ${note}; try again.`);
  return lock;
}

/** A note, or a copy beside the database whose note is missing, as after a power cut. */
type Leftover = { path: string; id: string; isNote: boolean };

function leftovers(databasePath: string): Leftover[] {
  const path = databaseOf(databasePath);
  const names = namesIn(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.`));
  const found = names.flatMap((name): Leftover[] => {
    const rest = name.slice(basename(path).length);
    const id = /^\.unfinished-(.{36})$/.exec(rest)?.[1];
    if (id !== undefined) return [{ path: join(dirname(path), name), id, isNote: true }];
    const loose = /^(?:\.before-schema-\d+-[\dTZ.]+)?\.(.{36})\.unfinished$/.exec(rest)?.[1];
    return loose === undefined ? [] : [{ path: join(dirname(path), name), id: loose, isNote: false }];
  });
  const noted = new Set(found.flatMap(({ id, isNote }) => (isNote ? [id] : [])));
  return found.filter(({ id, isNote }) => isNote || !noted.has(id));
}

/** The names of regular files: opening a pipe would wait for a writer, and a link may lead to another program's file. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  } catch {
    return [];
  }
}

/**
 * Calls `act` with the path of the copy, null if the note contains none. Returns an empty list if `act` returns null, a
 * process holds the lock, or a file can't be read or removed. For `write` it takes the lock, so that the process that
 * has just made the note does not use it.
 */
function fromLeftover(
  { path, id, isNote }: Leftover,
  access: 'read' | 'write',
  act: (copy: string | null) => string | null,
): string[] {
  try {
    using sqlite = openBare(path, access);
    // A copy without a note is locked while SQLite writes it, and has no path in it.
    const noted = lockNote(sqlite, id, access);
    return [act(isNote ? noted : path) ?? []].flat();
  } catch {
    return [];
  }
}

/**
 * Takes the lock and returns the path in a note; null if there is none. Throws SQLite's error if another process holds
 * the lock.
 */
function lockNote(sqlite: Sqlite, id: string, access: 'read' | 'write'): string | null {
  try {
    sqlite.run('PRAGMA busy_timeout = 0');
    if (access === 'write') {
      sqlite.run('PRAGMA journal_mode = MEMORY');
      sqlite.run('BEGIN EXCLUSIVE');
    }
    const path = sqlite.query<{ path: string }, []>('SELECT path FROM copy').get()?.path ?? '';
    return basename(path).endsWith(`.${id}.unfinished`) ? path : null;
  } catch (error) {
    // Half a copy; or half a note, if the process was killed before it began the copy.
    const isHalf = isDamage(error) || (error as { code?: string }).code === 'SQLITE_READONLY_ROLLBACK';
    if (isHalf && !hasFailedOnDisk(sqlite)) return null;
    throw error;
  }
}
