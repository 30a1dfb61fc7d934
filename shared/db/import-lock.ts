import { closeSync, existsSync, openSync } from 'node:fs';
import { AppError } from '../errors.ts';
import { openBare, type Sqlite } from './connect.ts';
import { realPath } from './disk.ts';
import { databaseFault } from './faults.ts';
import { giveToOwnerOf } from './snapshot.ts';

// An import takes the database's write lock for each of its batches, and a VACUUM for seconds. So that neither gets in the
// other's way, there is a lock file beside the database: any number of imports share it, and a VACUUM has it alone. It ends
// with the process that holds it, however that ends.

const RETRY_MS = 50;

/** An import waits for a VACUUM, but not for ever. */
const MAX_WAIT_MS = 600_000;

/**
 * Shares the lock with other imports until it is closed; waits, without blocking the thread, while a VACUUM has it. Throws
 * `busy` where that lasts more than ten minutes, and `refused` where there can be no such file.
 */
export async function lockForImport(databasePath: string): Promise<Sqlite> {
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    // A read transaction, which stays open, holds SQLite's shared lock.
    const lock = tryLock(databasePath, 0, ['BEGIN', 'SELECT count(*) FROM sqlite_schema']);
    if (lock !== null) return lock;
    if (waitedMs >= MAX_WAIT_MS) {
      throw new AppError('busy', `The database ${databasePath} is being vacuumed; try again when that is done.`);
    }
    await Bun.sleep(RETRY_MS);
  }
}

/**
 * Has the lock alone until it is closed. Waits so long for an import or another VACUUM that has it, milliseconds, and then
 * throws `busy`. Two that come at the same time and do not wait may each refuse the other.
 */
export function lockForVacuum(databasePath: string, waitMs: number): Sqlite {
  const lock = tryLock(databasePath, waitMs, ['BEGIN EXCLUSIVE']);
  if (lock !== null) return lock;
  throw new AppError('busy', `An import or another vacuum is under way on ${databasePath}; try again when it is done.`);
}

/** Null where others hold a lock that does not go with this one. */
function tryLock(databasePath: string, waitMs: number, statements: readonly string[]): Sqlite | null {
  const path = `${realPath(databasePath)}.import-lock`;
  let lock: Sqlite | null = null;
  try {
    makeFile(databasePath, path);
    lock = openBare(path, 'write');
    lock.run(`PRAGMA busy_timeout = ${waitMs}`);
    // Nothing is ever written, so there is nothing to undo, and no journal to leave behind.
    lock.run('PRAGMA journal_mode = MEMORY');
    for (const statement of statements) lock.query(statement).all();
    return lock;
  } catch (error) {
    lock?.close();
    const fault = databaseFault(path, error);
    if (fault?.code === 'busy') return null;
    throw fault ?? error;
  }
}

function makeFile(databasePath: string, path: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', 0o600));
  giveToOwnerOf(databasePath, path);
}
