import { statSync } from 'node:fs';
import { badVariable } from './network.ts';

/** Where the database is when nothing names one, from the current folder. */
export const DEFAULT_DATABASE_PATH = 'data/profiles.db';

/** Whether a text can be a file's path. SQLite would take an empty one and `:memory:` for a database that ends with the process. */
export function isFilePath(text: string): boolean {
  return text.trim() !== '' && !text.startsWith(':') && !text.includes('\0');
}

/** The path of a database that a variable or flag names, as it is. Throws `bad_config` where it can't be a file or is a folder. */
export function checkDatabasePath(name: 'DATABASE_PATH' | '--db', text: string): string {
  if (!isFilePath(text)) throw badVariable(name, 'must name a file');
  if (isFolder(text)) throw badVariable(name, `must name a file, and ${text} is a folder`);
  return text;
}

/** False too where a folder on the way may not be passed: opening the file tells of that. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
