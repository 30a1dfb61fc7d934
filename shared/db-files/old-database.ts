import { linkSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { readApplicationId } from '../db/catalog.ts';
import { openBare, type Sqlite } from '../db/connect.ts';
import { databaseFault, hasFailedOnDisk, isDamage } from '../db/faults.ts';
import { APPLICATION_ID } from '../db/migrate.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { fileTime } from './snapshot.ts';

/**
 * The old database after a restore. If `isWhole`, it was readable and includes its write-ahead log; otherwise the log
 * is beside it.
 */
export type KeptAside = { path: string; isWhole: boolean };

const SIDE_FILES = ['-wal', '-shm', '-journal'] as const;

/**
 * Gives the old database a second name, then lets `replace` put the new one under the first name, so that there is
 * always a database under it. Before that, once nobody can write to the old database, `prepare` gets the result of
 * `read`, or null if the old database is missing or damaged. Throws `busy` while somebody else has the database open,
 * and the errors of `prepare` and `replace`; the old database is then unchanged.
 */
export function setAside<Found, T>(
  path: string,
  act: { read: (old: Sqlite) => Found; prepare: (found: Found | null) => T; replace: () => void },
): { kept: KeptAside | null; prepared: T } {
  const { read, prepare, replace } = act;
  const aside = `${path}.before-restore-${fileTime()}`;
  const old = statSync(path, { throwIfNoEntry: false }) === undefined ? null : lockAndRead(path, read);
  const undo: (() => void)[] = [];
  try {
    const prepared = prepare(old?.found ?? null);
    // Files beside a missing database were left by an earlier one. The log of a database that can't be opened may help
    // to recover it. Other databases have no files left beside them.
    for (const suffix of SIDE_FILES) moveIfThere(path + suffix, aside + suffix, undo);
    if (old !== null) keepUnder(path, aside, undo);
    replace();
    return { kept: old === null ? null : { path: aside, isWhole: old.found !== null }, prepared };
  } catch (error) {
    undoAll(undo, aside);
    throw error;
  } finally {
    old?.lock?.close();
  }
}

/**
 * The database to be replaced: the connection that blocks writers, null if it is too damaged to open, and the data read
 * from it, null if it is too damaged to read.
 */
type OldDatabase<Found> = { lock: Sqlite | null; found: Found | null };

/**
 * Checkpoints the write-ahead log into the old database, locks it, and reads it. Throws `busy` if somebody else has it
 * open, and `refused` if the disk or the file system fails, because a database that can't be read now may be intact.
 */
function lockAndRead<Found>(path: string, read: (old: Sqlite) => Found): OldDatabase<Found> {
  const hasLog = ['-wal', '-journal'].some((suffix) => sizeOf(path + suffix) > 0);
  let old: Sqlite | null = null;
  try {
    old = openBare(path, 'write');
    if (unlessDamaged(old, hasLog, lockOld) !== null) {
      return { lock: old, found: unlessDamaged(old, false, read) };
    }
    // Closed before its log is moved: closing looks for the log by its name.
    old.close();
    return { lock: null, found: null };
  } catch (error) {
    old?.close();
    throw error instanceof AppError ? error : unreadable(path, error);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function lockOld(old: Sqlite): true {
  const id = readApplicationId(old);
  if (id !== APPLICATION_ID && id !== 0) {
    throw fileRefusal(`${old.filename} is another program's database; nothing was changed.`);
  }
  old.run('PRAGMA journal_mode = DELETE');
  old.run('BEGIN EXCLUSIVE');
  return true;
}

/**
 * Returns the result of `read`; null if the content is certainly damaged. Throws if it may only seem damaged, because
 * the file or its log could not be read.
 */
function unlessDamaged<T>(old: Sqlite, hasLog: boolean, read: (old: Sqlite) => T): T | null {
  try {
    return read(old);
  } catch (error) {
    const isCertain = isForeignFile(error) || !(hasLog || hasFailedOnDisk(old));
    if (isDamage(error) && isCertain) return null;
    throw error;
  }
}

/** The file was read and lacks SQLite's header. */
function isForeignFile(error: unknown): boolean {
  return (error as { code?: string }).code === 'SQLITE_NOTADB';
}

function unreadable(path: string, error: unknown): AppError {
  const fault = databaseFault(path, error);
  if (fault?.code === 'busy') {
    return new AppError('busy', `Another command is using the database ${path}; try again when it is finished.`);
  }
  const why = fault?.message ?? `The database ${path} can't be read.`;
  const sentence = `${why} Nothing was replaced. To restore anyway, first move the old database and its -wal file away.`;
  return fileRefusal(sentence, error);
}

/** The error codes of a failing or full disk. With any other error of `link`, the file system has no hard links. */
const BROKEN_DISK = /^(EIO|ENOSPC|EDQUOT|EROFS)$/;

/**
 * Gives the file a second name. If the file system has no hard links, the file is renamed, and for a moment there is no
 * database. Adds the reverse step to `undo`.
 */
function keepUnder(path: string, aside: string, undo: (() => void)[]): void {
  try {
    linkSync(path, aside);
    undo.push(() => unlinkSync(aside));
  } catch (error) {
    if (BROKEN_DISK.test((error as NodeJS.ErrnoException).code ?? '')) throw error;
    moveIfThere(path, aside, undo);
  }
}

function undoAll(undo: (() => void)[], aside: string): void {
  try {
    for (const step of undo.reverse()) step();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const sentence = `The restore failed, and the old database could not be renamed back (${code}): it is now ${aside}.`;
    throw fileRefusal(sentence, error);
  }
}

function moveIfThere(from: string, to: string, undo: (() => void)[]): void {
  if (statSync(from, { throwIfNoEntry: false }) === undefined) return;
  renameSync(from, to);
  undo.push(() => renameSync(to, from));
}
