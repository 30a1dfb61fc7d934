import { fileRefusal } from '../errors.ts';
import { leaveLogAlone, type Opening, openFile, type Sqlite } from './connect.ts';
import { guardDatabase } from './faults.ts';
import { schemaState } from './migrate.ts';

/**
 * Opens another connection to an existing main database with the current schema. By default it does not wait for locks.
 * Throws `refused` for any other file, and `busy`. Never creates a file, so a database that was removed is not replaced
 * by an empty one.
 */
export function openBeside(path: string, busyTimeoutMs = 0, opening: Pick<Opening, 'isDurable'> = {}): Sqlite {
  const check = (sqlite: Sqlite) => {
    if (schemaState(sqlite, path) !== 'current') throw fileRefusal(`The database ${path} is not current.`);
  };
  return guardDatabase(path, () => {
    const sqlite = openFile(path, busyTimeoutMs, { ...opening, check, create: false });
    leaveLogAlone(sqlite);
    return sqlite;
  });
}
