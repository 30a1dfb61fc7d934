import { statSync } from 'node:fs';
import { variableError } from './network.ts';

/** The default path of the database, relative to the current folder. */
export const DEFAULT_DATABASE_PATH = 'data/profiles.db';

/** Whether a string can be a file's path. SQLite would open a temporary database for an empty one or `:memory:`. */
export function isFilePath(text: string): boolean {
  return text.trim() !== '' && !text.startsWith(':') && !text.includes('\0');
}

/** Returns the path unchanged. Throws `bad_config`, naming the variable or flag, if it can't be a file or is a folder. */
export function checkDatabasePath(name: 'DATABASE_PATH' | '--db', text: string): string {
  if (!isFilePath(text)) throw variableError(name, 'must name a file');
  if (isFolder(text)) throw variableError(name, `must name a file, and ${text} is a folder`);
  return text;
}

/** Also false below an inaccessible folder; opening the file reports that. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
