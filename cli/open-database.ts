import type { Config } from '../shared/config/config.ts';
import type { Opened } from '../shared/db/connect.ts';
import { looseModes } from '../shared/file-mode.ts';
import { type OpenMode, openDatabase } from '../shared/files/open.ts';
import { notice } from './terminal/output.ts';

/**
 * Opens the configured database, runs `act` with it and closes it again. Prints to stderr where it was copied to before an
 * upgrade, and warns of files that other users can read. Throws what `openDatabase` and `act` throw.
 */
export async function withOpenDatabase<T>(
  config: Config,
  mode: OpenMode,
  act: (db: Opened) => Promise<T> | T,
): Promise<T> {
  const onCopied = (copy: string) => {
    notice(`The database was copied to ${copy} before its schema is upgraded.`);
  };
  const mustExist = mode === 'serve' && config.databaseMustExist;
  const db = openDatabase(config.databasePath, mode, onCopied, mustExist);
  try {
    for (const warning of looseModes(config.databasePath)) notice(`Warning: ${warning}`);
    return await act(db);
  } finally {
    db.$client.close();
  }
}
