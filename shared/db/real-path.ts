import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

// Facts about a database's file needed before it is opened: its real name, and whether its disk is read-only.

/**
 * The target of a symbolic link, otherwise the path itself, so that the files beside the database are found under any
 * of its names. Throws the file system's error if the disk fails.
 */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // A path that can't be resolved right now must not be treated as if it were not a link.
    if ((error as NodeJS.ErrnoException).code === 'EIO') throw error;
    return path;
  }
}

/** Whether the file is on a disk that not even root can write to. */
export function isOnReadOnlyDisk(path: string): boolean {
  try {
    accessSync(dirname(realPath(path)), constants.W_OK);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'EROFS';
  }
}

/**
 * Whether SQLite has to open the file as immutable: on a read-only disk it can't create the `-wal` and `-shm` files of
 * WAL mode. Without a `-shm` file, and with an empty log, nobody has the database open and the main file is complete.
 */
export function isImmutable(path: string): boolean {
  const file = realPath(path);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  return !existsSync(`${file}-shm`) && (log?.size ?? 0) === 0 && isOnReadOnlyDisk(file);
}
