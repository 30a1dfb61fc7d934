import { type Stats, statSync } from 'node:fs';

/**
 * The warning if other users may read or write a file or folder; null if not, or if it can't be inspected. A file of root that
 * this user's group may read is meant for this user, so there is no warning.
 */
export function looseMode(path: string): string | null {
  const stat = statOf(path);
  if (stat === null || (stat.mode & (isLentByRoot(stat) ? 0o037 : 0o077)) === 0) return null;
  const mode = (stat.mode & 0o777).toString(8);
  const wanted = stat.isDirectory() ? '700' : '600';
  return `${path} can be read by other users of this machine (mode ${mode}); chmod ${wanted} it.`;
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function isLentByRoot(stat: Stats): boolean {
  const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])];
  return stat.isFile() && stat.uid === 0 && process.geteuid?.() !== 0 && groups.includes(stat.gid);
}
