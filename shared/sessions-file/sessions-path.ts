import { realPath } from '../db/real-path.ts';

/** The path of the sessions file of a main database: `profiles.db.sessions` for `profiles.db`. */
export function sessionsPath(databasePath: string): string {
  return `${realPath(databasePath)}.sessions`;
}
