import { dirname } from 'node:path';
import { realPath } from '../db/real-path.ts';
import { looseMode } from '../file-mode.ts';

/** Returns a sentence for each of the database's files, and for its folder, if other users can read or write it. */
export function looseModes(databasePath: string): string[] {
  const file = realPath(databasePath);
  return [dirname(file), file, `${file}-wal`, `${file}.sessions`, `${file}.sessions-wal`].flatMap(
    (path) => looseMode(path) ?? [],
  );
}
