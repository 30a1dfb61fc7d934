import { openBare, type Sqlite } from '../db/connect.ts';
import { databaseFault } from '../db/faults.ts';

/**
 * Locks an existing file, empty or an SQLite file; closing the result releases the lock, as does the end of the
 * process. Blocks the thread for up to `waitMs` milliseconds while others hold a conflicting lock, then returns null.
 * `statements` determine the lock, by default an exclusive one. Throws SQLite's errors.
 */
export function tryFileLock(
  path: string,
  waitMs: number,
  statements: readonly string[] = ['BEGIN EXCLUSIVE'],
): Sqlite | null {
  let lock: Sqlite | null = null;
  try {
    lock = openBare(path, 'write');
    lock.run(`PRAGMA busy_timeout = ${waitMs}`);
    // Such a file contains at most a path, so it needs no journal on the disk.
    lock.run('PRAGMA journal_mode = MEMORY');
    for (const statement of statements) lock.query(statement).all();
    return lock;
  } catch (error) {
    lock?.close();
    if (databaseFault(path, error)?.code === 'busy') return null;
    throw error;
  }
}
