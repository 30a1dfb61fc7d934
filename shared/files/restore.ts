import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Actor } from '../actor.ts';
import { openBare, type Sqlite } from '../db/connect.ts';
import { databaseFault, guardDatabase, hasFailedOnDisk, isDamage } from '../db/faults.ts';
import { APPLICATION_ID, migrate } from '../db/migrate.ts';
import { giveToOwnerOf } from '../db/owner.ts';
import { realPath } from '../db/real-path.ts';
import { AppError, fileRefusal } from '../errors.ts';
import type { MailConfig } from '../mail/outbox.ts';
import { copyInto, fileTime, removeUnfinished, syncPath, type Verified, verifyFile, withCopy } from './copy.ts';
import { type Ended, type Kept, keepEnded, readEnded } from './ended.ts';
import { lockForServing } from './lock.ts';

/** A restore that is ready to run: the backup is intact, and no server can start until `release`. */
export type Restore = {
  source: Verified;
  /**
   * Replaces the database with the backup, and logs that there. After an error the database is unchanged. Everybody is
   * signed out, waiting mails are dropped, and what was ended in the replaced database stays so.
   */
  run: (by: Actor) => Restored;
  release: () => void;
};

/** Where the replaced database is now; null if there was none. If it was unreadable, nothing was taken from it. */
export type Restored = Kept & { replaced: { path: string; isReadable: boolean } | null };

/**
 * Verifies a backup and makes sure that no server is running. Throws `refused` if a server is running, and for a backup
 * that is missing, damaged, not a database of this program, of a newer schema, or the database itself.
 */
export function prepareRestore(databasePath: string, file: string, config: MailConfig): Restore {
  const path = guardDatabase(databasePath, () => refuseItself(databasePath, file));
  const lock = guardDatabase(path, () => lockForServing(path));
  try {
    return {
      source: verifyFile(file, 'read'),
      run: (by) => guardDatabase(path, () => replaceDatabase(path, file, by, config)),
      release: () => lock.close(),
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Returns the database's path with links resolved. Throws `refused` if the backup is missing, or the same file. */
function refuseItself(databasePath: string, file: string): string {
  const path = realPath(databasePath);
  const source = statSync(file, { throwIfNoEntry: false });
  if (source === undefined) throw fileRefusal(`There is no file ${file}.`);
  if (!source.isFile()) throw fileRefusal(`${file} is not a file.`);
  const current = statSync(path, { throwIfNoEntry: false });
  if (current?.ino === source.ino && current.dev === source.dev) {
    throw fileRefusal(`${file} is the database itself, not a backup of it.`);
  }
  return path;
}

function replaceDatabase(path: string, file: string, by: Actor, config: MailConfig): Restored {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // The caller holds the server's lock, so a file of this name was left by a restore that was killed.
  const unfinished = `${path}.unfinished`;
  removeUnfinished(unfinished);
  closeSync(openSync(unfinished, 'wx', 0o600));
  let old: OldDatabase | null = null;
  try {
    using source = openBare(file, 'read');
    copyInto(source, unfinished, file);
    old = existsSync(path) ? lockOld(path) : null;
    const ended = old?.ended ?? null;
    const kept = withCopy(unfinished, (copy) => {
      migrate(copy, unfinished);
      return keepEnded(copy, ended, { by, config });
    });
    giveToOwnerOf(old === null ? dirname(path) : path, unfinished);
    syncPath(unfinished);
    const aside = `${path}.before-restore-${fileTime()}`;
    putInPlace(path, unfinished, aside);
    return { ...kept, replaced: old === null ? null : { path: aside, isReadable: ended !== null } };
  } catch (error) {
    removeUnfinished(unfinished);
    throw error;
  } finally {
    old?.lock?.close();
  }
}

/** The locked database, null if it is too damaged for that; and what was ended in it, null if that is unreadable. */
type OldDatabase = { lock: Sqlite | null; ended: Ended | null };

/**
 * Moves the write-ahead log into the old database, so that no file beside it belongs to it any more, locks it against
 * all other processes, and reads it. Throws `busy` if somebody else has it open, and `refused` if the disk fails,
 * because a database that can't be read now may be intact; so may one whose log can't be read.
 */
function lockOld(path: string): OldDatabase {
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const old = openBare(path, 'write');
  try {
    const id = (old.query('PRAGMA application_id').get() as { application_id: number }).application_id;
    if (id !== APPLICATION_ID && id !== 0) {
      throw fileRefusal(`${path} is another program's database; nothing was changed.`);
    }
    old.run('PRAGMA journal_mode = DELETE');
    old.run('BEGIN EXCLUSIVE');
  } catch (error) {
    const isCertain = isCertainDamage(old, error) && !hasLog;
    old.close();
    if (isCertain) return { lock: null, ended: null };
    throw unreadable(path, error);
  }
  try {
    return { lock: old, ended: readEnded(old) };
  } catch (error) {
    if (isCertainDamage(old, error)) return { lock: old, ended: null };
    old.close();
    throw unreadable(path, error);
  }
}

/** SQLite also reports most reads that fail on a broken disk as damage. */
function isCertainDamage(old: Sqlite, error: unknown): boolean {
  if ((error as { code?: string }).code === 'SQLITE_NOTADB') return true;
  return isDamage(error) && !hasFailedOnDisk(old);
}

function unreadable(path: string, error: unknown): unknown {
  if (error instanceof AppError) return error;
  const fault = databaseFault(path, error);
  if (fault?.code === 'busy') {
    return new AppError('busy', `Another command is using the database ${path}; try again when it is finished.`);
  }
  const why = fault?.message ?? `The database ${path} can't be read.`;
  const sentence = `${why} Nothing was replaced. To restore anyway, first move the old database and its -wal file away.`;
  return fileRefusal(sentence, error);
}

/**
 * Gives the old database another name and the finished copy the database's. In between there is always one under that
 * name, except on file systems without hard links.
 */
function putInPlace(path: string, unfinished: string, aside: string): void {
  // These are of a database that is damaged or gone; SQLite would apply the log to the new one.
  for (const suffix of ['-wal', '-shm', '-journal'].filter((one) => existsSync(path + one))) {
    renameSync(path + suffix, aside + suffix);
  }
  if (existsSync(path)) {
    try {
      linkSync(path, aside);
    } catch {
      renameSync(path, aside);
    }
  }
  try {
    renameSync(unfinished, path);
    syncPath(dirname(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const sentence = `The restore could not be finished (${code}): the old database is ${aside}. Check the disk, then restore again.`;
    throw fileRefusal(sentence, error);
  }
}
