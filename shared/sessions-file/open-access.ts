import type { Config } from '../config/config.ts';
import { orClose } from '../db/connect.ts';
import { withTables } from '../db/tables.ts';
import { createDeps } from '../deps.ts';
import { openDatabase } from '../files/open.ts';
import type { Access } from './access.ts';
import { closeSessionsFile, isInPlace, openSessionsFile, type SessionsFile } from './sessions-file.ts';

/** How long a write waits for another process's lock. The wait blocks all pages, so they call `whenUnlocked` first. */
const BUSY_TIMEOUT_MS = 50;

/**
 * Opens the databases that a thread needs for pages: another connection to the main database, which must exist and be
 * current, and the sessions file. Throws `refused`.
 */
export function openAccess(config: Config): Access {
  const db = withTables(openDatabase(config.databasePath, 'pages'));
  return orClose(db.$client, () => ({ ...createDeps(db, config), sessions: openForPages(config.databasePath) }));
}

/** Closes the connections from {@link openAccess}. */
export function closeAccess({ db, sessions }: Access): void {
  closeSessionsFile(sessions);
  db.$client.close();
}

/**
 * Reopens the sessions file if it was moved or deleted: removing it signs everybody out at once, and pages and commands
 * always use the same file. Throws `refused`; the next call tries again.
 */
export function renewSessions(access: Access): void {
  if (isInPlace(access.sessions)) return;
  // Closed first: two connections for one path would share the `-wal` and `-shm` files.
  closeSessionsFile(access.sessions);
  access.sessions = openForPages(access.config.databasePath);
}

function openForPages(databasePath: string): SessionsFile {
  return openSessionsFile(databasePath, undefined, BUSY_TIMEOUT_MS);
}
