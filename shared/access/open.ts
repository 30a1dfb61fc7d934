import type { Config } from '../config/config.ts';
import { closeDatabase, openDatabase } from '../db/open.ts';
import { withTables } from '../db/tables.ts';
import { createDeps } from '../deps.ts';
import type { Access } from './access.ts';
import { closeSessionsFile, openSessionsFile } from './sessions-file.ts';

/**
 * Opens what pages work on, for a thread of its own: one more connection to the main database, which must exist and be
 * current, and the sessions file. Throws `refused` and `busy`.
 */
export function openAccess(config: Config): Access {
  const db = withTables(openDatabase(config.databasePath, 'pages'));
  try {
    return { ...createDeps(db, config), sessions: openSessionsFile(config.databasePath) };
  } catch (error) {
    db.$client.close();
    throw error;
  }
}

/** Closes what {@link openAccess} has opened. */
export function closeAccess({ db, sessions }: Access): void {
  closeSessionsFile(sessions);
  closeDatabase(db);
}
