import type { Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { makeFileLike } from '../db/owner.ts';
import { realPath } from '../db/real-path.ts';
import { AppError } from '../errors.ts';
import { tryFileLock } from './file-lock.ts';

// An import takes the database's write lock for each of its batches, and a VACUUM takes it for seconds. A lock file
// beside the database keeps them apart: any number of imports share the lock, and a VACUUM holds it exclusively. The
// operating system releases the lock when its process ends.

const RETRY_MS = 50;

const MAX_WAIT_MS = 600_000;

/**
 * Shares the lock with other imports; closing the result releases it. Waits, without blocking the thread, while a
 * VACUUM holds the lock. Rejects with `busy` after ten minutes, and with `refused` if the lock file can't be created.
 */
export async function lockForImport(databasePath: string): Promise<Sqlite> {
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    // A read transaction that stays open holds SQLite's shared lock.
    const lock = tryLock(databasePath, 0, ['BEGIN', 'SELECT count(*) FROM sqlite_schema']);
    if (lock !== null) return lock;
    if (waitedMs >= MAX_WAIT_MS) {
      throw new AppError('busy', `The database ${databasePath} is being vacuumed; try again when it is finished.`);
    }
    await Bun.sleep(RETRY_MS);
  }
}

/**
 * Takes the lock exclusively; closing the result releases it. Blocks for up to `waitMs` milliseconds while an import or
 * another VACUUM holds the lock, then throws `busy`. Two calls at the same time with `waitMs` 0 may both be refused.
 */
export function lockForVacuum(databasePath: string, waitMs: number): Sqlite {
  const lock = tryLock(databasePath, waitMs, ['BEGIN EXCLUSIVE']);
  if (lock !== null) return lock;
  throw new AppError(
    'busy',
    `An import or another vacuum is running on ${databasePath}; try again when it is finished.`,
  );
}

/**
 * Takes the lock for backends' imports, of which one runs at a time; closing the result releases it. Null while another
 * one is running. Throws `refused` if the lock file can't be created.
 */
export function lockForFeed(databasePath: string): Sqlite | null {
  return tryLock(databasePath, 0, ['BEGIN EXCLUSIVE'], '.feed-lock');
}

function tryLock(
  databasePath: string,
  waitMs: number,
  statements: readonly string[],
  suffix = '.import-lock',
): Sqlite | null {
  const path = realPath(databasePath) + suffix;
  return guardDatabase(path, () => {
    makeFileLike(databasePath, path);
    return tryFileLock(path, waitMs, statements);
  });
}
