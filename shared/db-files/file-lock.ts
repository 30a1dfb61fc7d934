import { openBare, type Sqlite } from '../db/connect.ts';
import { databaseFault } from '../db/faults.ts';

/**
 * Takes the lock of a file that is there, empty or an SQLite file; closing the result releases it. The operating system
 * releases it when the process ends, however it ends. Null if others hold a lock that conflicts with this one for `waitMs`
 * milliseconds, which blocks the thread. `statements` say which lock: by default one that nobody shares. Throws the errors
 * of SQLite.
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
    // Nothing is ever written into this file, so it needs no journal on the disk.
    lock.run('PRAGMA journal_mode = MEMORY');
    for (const statement of statements) lock.query(statement).all();
    return lock;
  } catch (error) {
    lock?.close();
    if (databaseFault(path, error)?.code === 'busy') return null;
    throw error;
  }
}
