import { constants, SQLiteError } from 'bun:sqlite';
import { AppError, fileRefusal } from '../errors.ts';
import type { Sqlite } from './connect.ts';
import { foreignOwner } from './file.ts';

/**
 * Runs a function and turns errors of SQLite and the file system into AppErrors: `busy` for a lock, `refused` for a
 * full disk, a damaged file and the like. Other errors are thrown as they are.
 */
export function guardDatabase<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof AppError ? error : (databaseFault(path, error) ?? error);
  }
}

/** The AppError for an error of SQLite or the file system; null for any other error. */
export function databaseFault(path: string, error: unknown): AppError | null {
  return sqliteFault(path, error) ?? (isFileFault(error) ? unusable(path, error) : null);
}

/**
 * The AppError for anything that was thrown by work on an open database, for the doors: reads throw SQLite's errors as they
 * are. What is neither is `internal`.
 */
export function knownError(path: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  return sqliteFault(path, error) ?? new AppError('internal', null, { cause: error });
}

/** The AppError for an error of SQLite; null for any other error, also for an AppError. */
export function sqliteFault(path: string, error: unknown): AppError | null {
  if (error instanceof AppError) return null;
  const fault = error instanceof SQLiteError ? error : error instanceof Error ? error.cause : null;
  if (!(fault instanceof SQLiteError)) return null;
  const code = fault.code ?? '';
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return new AppError('busy', 'The database is locked by another process; try again.', { cause: error });
  }
  if (code === 'SQLITE_NOTADB') return fileRefusal(`${path} is not a Profile Lookup database.`, error);
  // SQLITE_IOERR_SHMSIZE means that there is no room for the `-shm` file.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') {
    return fileRefusal(`No space is left on the disk of ${path}; this step wrote nothing.`, error);
  }
  if (/^SQLITE_(CANTOPEN|READONLY|IOERR|CORRUPT|PERM|AUTH)/.test(code)) return unusable(path, error);
  return null;
}

/**
 * Whether SQLite reports that the content of a file is damaged: its pages or, with SQLITE_ERROR, its tables. SQLite
 * also reports most reads that fail with EIO as damage; {@link hasFailedOnDisk} detects these.
 */
export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(CORRUPT|NOTADB|ERROR)/.test(error.code ?? '');
}

/** Whether a system call on a connection's main file has failed. Failures on the write-ahead log go unnoticed. */
export function hasFailedOnDisk(sqlite: Sqlite): boolean {
  // SQLite writes one 32-bit number, but Bun requires room for two.
  const errno = new Int32Array(2);
  return sqlite.fileControl(constants.SQLITE_FCNTL_LAST_ERRNO, errno) !== 0 || errno[0] !== 0;
}

/** Whether the disk can't be written to: it is full, read-only or broken. */
export function isDiskFault(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  const { code } = (error.details.cause ?? {}) as { code?: unknown };
  return /^(SQLITE_(FULL|IOERR|READONLY)|ENOSPC|EDQUOT|EROFS|EIO)/.test(String(code));
}

function isFileFault(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

function unusable(path: string, cause: unknown): AppError {
  const code = (cause as { code?: string }).code ?? 'unknown fault';
  if (/^SQLITE_IOERR_SHM/.test(code)) {
    const sentence = `The file system of ${path} can't share memory between processes, which SQLite needs (${code}); use a local disk, not NFS, SMB or FUSE.`;
    return fileRefusal(sentence, cause);
  }
  const sentence = `The database ${path} can't be used (${code}); check the file, its folder and its disk.`;
  return fileRefusal(foreignOwner(path) ?? sentence, cause);
}
