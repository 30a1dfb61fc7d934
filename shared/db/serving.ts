import { existsSync } from 'node:fs';
import { databaseFault, openBare } from './open.ts';

/** Whether a server holds the lock of this database; looks only, and takes nothing. */
export function isServed(databasePath: string): boolean {
  const path = `${databasePath}.lock`;
  if (!existsSync(path)) return false;
  const lock = openBare(path, 'read');
  try {
    lock.run('PRAGMA busy_timeout = 0');
    lock.query('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (databaseFault(path, error)?.code === 'busy') return true;
    throw databaseFault(path, error) ?? error;
  } finally {
    lock.close();
  }
}
