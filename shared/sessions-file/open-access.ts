import type { Config } from '../config/config.ts';
import { withTables } from '../db/tables.ts';
import { closeDatabase, openDatabase } from '../db-files/open.ts';
import { createDeps } from '../deps.ts';
import type { Access } from './access.ts';
import { closeSessionsFile, isInPlace, openSessionsFile, type SessionsFile } from './sessions-file.ts';

/** How long a write holds up all pages for the lock of another process, in milliseconds; they wait by `whenUnlocked` first. */
const BUSY_TIMEOUT_MS = 50;

/**
 * Opens what pages work on, for a thread of its own: one more connection to the main database, which must exist and be
 * current, and the sessions file. Throws `refused` and `busy`.
 */
export function openAccess(config: Config): Access {
  const db = withTables(openDatabase(config.databasePath, 'pages'));
  try {
    return { ...createDeps(db, config), sessions: openForPages(config.databasePath) };
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

/**
 * Opens the sessions file anew where it was moved or deleted since: whoever removes it signs everybody out at once, and pages
 * and commands work on the same file. Throws `refused` and `busy`, and tries again when it is called again.
 */
export function renewSessions(access: Access): void {
  if (isInPlace(access.sessions)) return;
  // Closed first: two open files of one path would share the files beside it.
  closeSessionsFile(access.sessions);
  access.sessions = openForPages(access.config.databasePath);
}

function openForPages(databasePath: string): SessionsFile {
  return openSessionsFile(databasePath, undefined, BUSY_TIMEOUT_MS);
}
