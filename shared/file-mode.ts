import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { realPath } from './db/real-path.ts';

/** Whether anyone may read or write. A group may be the service's own, which root lends its settings. */
const OTHERS = 0o006;

/** The warning if every user may read or write a file or folder; null if not, or if it can't be inspected. */
export function looseMode(path: string): string | null {
  try {
    const { mode } = statSync(path);
    if ((mode & OTHERS) === 0) return null;
    const octal = (mode & 0o777).toString(8);
    return `${path} is open to all users of this machine (mode ${octal}); run "chmod o-rwx" on it.`;
  } catch {
    return null;
  }
}

/** A sentence for each of the database's files, and for its folder, that other users can read or write. */
export function looseModes(databasePath: string): string[] {
  const file = realPath(databasePath);
  return [dirname(file), file, `${file}-wal`].flatMap((path) => looseMode(path) ?? []);
}
