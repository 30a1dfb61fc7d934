import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isBinary } from '../binary.ts';
import { realPath } from './disk.ts';

/** A sentence where a file or folder may be read or written by others than its owner; null where it may not, or is not there. */
export function looseMode(path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || (stat.mode & 0o077) === 0) return null;
  const mode = (stat.mode & 0o777).toString(8);
  const wanted = stat.isDirectory() ? '700' : '600';
  return `${path} can be read by other users of this machine (mode ${mode}); chmod ${wanted} it.`;
}

/** The same for the database's files and its folder. */
export function looseModes(databasePath: string): string[] {
  const file = realPath(databasePath);
  return [dirname(file), file, `${file}-wal`].flatMap((path) => looseMode(path) ?? []);
}

/** The same for the files that completed the environment: what `--env-file` names, and `.env` where Bun has read it. */
export function looseEnvironmentFiles(envFile: string | undefined): string[] {
  // The binary reads no `.env`.
  const isRead = !isBinary() && !process.execArgv.includes('--no-env-file');
  return [envFile, isRead ? '.env' : undefined].flatMap((path) => (path === undefined ? [] : (looseMode(path) ?? [])));
}
