import { linkSync, renameSync, unlinkSync } from 'node:fs';

/** The errors of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'];

/** Renames a finished file without replacing another: returns false if the name is in use. Throws the file system's errors. */
export function giveName(unfinished: string, path: string): boolean {
  try {
    linkSync(unfinished, path);
    unlinkSync(unfinished);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.includes(code)) throw error;
    renameSync(unfinished, path);
  }
  return true;
}
