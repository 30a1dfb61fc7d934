import { randomUUID } from 'node:crypto';
import { closeSync, linkSync, mkdirSync, openSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type PeopleDecision, type RestoredPeople, settlePeople } from '../access/restored-people.ts';
import { removeSessionsFile } from '../access/sessions-file.ts';
import { systemClock } from '../clock.ts';
import { openBare, type Sqlite } from '../db/connect.ts';
import { realPath } from '../db/disk.ts';
import { databaseFault } from '../db/faults.ts';
import { APPLICATION_ID } from '../db/migrate.ts';
import { lockForServing } from '../db/serving.ts';
import { fileTime, giveToOwnerOf, syncPath, type Verified, verifyFile } from '../db/snapshot.ts';
import { AppError } from '../errors.ts';
import { type Dropped, dropRestoredNotices } from '../notices/store.ts';

/** A restore that is ready to run: the source is sound, and no server can start until `release`. */
export type Restore = {
  source: Verified;
  /**
   * Replaces the database by the source. Mails that wait in the source are dropped: they may have been sent since the
   * backup was made. Everybody is signed out of the Developer Platform, and admins and passkeys that the source has and the
   * old database has not are left out or put in.
   */
  run: (people: Omit<PeopleDecision, 'atMs'>) => Restored;
  /** Lets servers start again. */
  release: () => void;
};

/**
 * What a restore did: where the old database is now, null if there was none, which waiting mails were dropped, and who was
 * left out or put in.
 */
export type Restored = { kept: KeptAside | null; dropped: Dropped[]; people: RestoredPeople };

/**
 * The old database after a restore. If `isWhole`, it could be read and contains its write-ahead log; otherwise the log
 * lies beside it.
 */
export type KeptAside = { path: string; isWhole: boolean };

const SIDE_FILES = ['-wal', '-shm'] as const;

/**
 * Verifies a backup and makes sure that no server runs. Throws `refused` where one does, and for a source that is
 * missing, damaged, not ours, of a newer schema, or the database itself.
 */
export function prepareRestore(databasePath: string, file: string): Restore {
  const path = realPath(databasePath);
  const source = statBackup(file);
  const current = statSync(path, { throwIfNoEntry: false });
  if (current?.ino === source.ino && current.dev === source.dev) {
    throw new AppError('refused', `${file} is the database itself; name a backup of it.`);
  }
  const lock = lockForServing(path);
  try {
    return {
      source: verifyFile(file, 'read'),
      run: (people) => replaceDatabase(path, file, { ...people, atMs: systemClock.nowMs() }),
      release: () => lock.close(),
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Verifies a backup. Throws `refused` where it is missing, damaged, not ours, or of a newer schema. */
export function verifyBackup(file: string): Verified {
  statBackup(file);
  return verifyFile(file, 'read');
}

function statBackup(file: string): Stats {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new AppError('refused', `There is no file ${file}.`);
  if (!found.isFile()) throw new AppError('refused', `${file} is not a file.`);
  return found;
}

function replaceDatabase(path: string, file: string, decision: PeopleDecision): Restored {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}.unfinished`;
  try {
    const like = statSync(path, { throwIfNoEntry: false }) === undefined ? dirname(path) : path;
    copyBackup(file, temporary);
    const dropped = withCopy(temporary, (copy) => dropRestoredNotices(copy, decision.atMs));
    giveToOwnerOf(like, temporary);
    const { kept, prepared: people } = setAside(path, {
      prepare: (old) => {
        const found = withCopy(temporary, (copy) => settlePeople(copy, old, decision));
        syncPath(temporary);
        return found;
      },
      replace: () => {
        // Whoever was signed in may have been somebody else, or nobody, when the backup was made. Removed first, so that a
        // crash in between leaves no session beside the restored database.
        removeSessionsFile(path);
        renameSync(temporary, path);
      },
    });
    syncPath(dirname(path));
    return { kept, dropped, people };
  } catch (error) {
    throw error instanceof AppError ? error : (databaseFault(path, error) ?? error);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function withCopy<T>(path: string, act: (copy: Sqlite) => T): T {
  const copy = openBare(path, 'write');
  try {
    return act(copy);
  } finally {
    copy.close();
  }
}

/**
 * Copies a backup to a new file, mode 0600, and verifies the copy. It is read through SQLite, so that a backup with a
 * write-ahead log beside it is whole in the copy. Throws `refused` where the copy is damaged, and what SQLite throws.
 */
export function copyBackup(file: string, temporary: string): void {
  closeSync(openSync(temporary, 'wx', 0o600));
  const source = openBare(file, 'read');
  try {
    source.prepare('VACUUM INTO ?').run(temporary);
  } finally {
    source.close();
  }
  verifyFile(temporary, 'write', file);
}

/**
 * Gives the old database a second name, then lets `replace` put the new one under the first, so that there is always a
 * database under the first name. Before that, while nobody can write to the old database any more, `prepare` may read it;
 * it is given null where there is none, or it is too damaged. Throws `busy` while somebody else has the database open, and
 * what `prepare` throws; the old database is then as it was.
 */
function setAside<T>(
  path: string,
  { prepare, replace }: { prepare: (old: Sqlite | null) => T; replace: () => void },
): { kept: KeptAside | null; prepared: T } {
  const aside = `${path}.before-restore-${fileTime()}`;
  const old = statSync(path, { throwIfNoEntry: false }) === undefined ? null : foldOld(path);
  try {
    const prepared = prepare(old);
    if (old === null) {
      // Either there is no database, and what lies beside its name is of an earlier one; or it can't be read, and its
      // log may be worth something to whoever tries to save it.
      for (const suffix of SIDE_FILES) moveIfThere(path + suffix, aside + suffix);
    }
    if (statSync(path, { throwIfNoEntry: false }) === undefined) {
      replace();
      return { kept: null, prepared };
    }
    keepUnder(path, aside);
    replace();
    return { kept: { path: aside, isWhole: old !== null }, prepared };
  } finally {
    old?.close();
  }
}

/**
 * Checkpoints the write-ahead log into the old database, which fails if somebody else has it open, and locks it.
 * Returns the connection that holds the lock, or null if the database is too damaged.
 */
function foldOld(path: string): Sqlite | null {
  let old: Sqlite | null = null;
  try {
    old = openBare(path, 'write');
    const { application_id: id } = old.query('PRAGMA application_id').get() as { application_id: number };
    if (id !== APPLICATION_ID && id !== 0) {
      throw new AppError('refused', `${path} is another program's database; nothing was changed.`);
    }
    old.run('PRAGMA journal_mode = DELETE');
    old.run('BEGIN EXCLUSIVE');
    return old;
  } catch (error) {
    old?.close();
    if (error instanceof AppError) throw error;
    const fault = databaseFault(path, error);
    if (fault?.code !== 'busy') return null;
    throw new AppError('busy', `Another command is using the database ${path}; try again when it is done.`);
  }
}

/**
 * Gives the file a second name. If the file system has no hard links, the file is renamed, and for a moment there is no
 * database.
 */
function keepUnder(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch {
    renameSync(path, aside);
  }
}

function moveIfThere(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, to);
}
