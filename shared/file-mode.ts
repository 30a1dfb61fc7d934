import { statSync } from 'node:fs';

/** A sentence where a file or folder may be read or written by others than its owner; null where it may not, or is not there. */
export function looseMode(path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || (stat.mode & 0o077) === 0) return null;
  const mode = (stat.mode & 0o777).toString(8);
  const wanted = stat.isDirectory() ? '700' : '600';
  return `${path} can be read by other users of this machine (mode ${mode}); chmod ${wanted} it.`;
}
