import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

// What has to be known of a database's file before it is opened: its real name, and whether its disk is read-only.

/**
 * The target of a symbolic link, otherwise the path itself, so that the files beside the database are found by each of
 * its names. Throws what the file system throws if the disk fails.
 */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // The path can't be resolved right now, so it must not be treated as if it were not a link.
    if ((error as NodeJS.ErrnoException).code === 'EIO') throw error;
    return path;
  }
}

/** True if the file is on a disk that nobody can write to, not even root. */
export function isOnReadOnlyDisk(path: string): boolean {
  try {
    accessSync(dirname(realPath(path)), constants.W_OK);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'EROFS';
  }
}

/**
 * True if SQLite has to open the file as one that never changes: on a read-only disk SQLite can't create the `-wal` and
 * `-shm` files of WAL mode. Without a `-shm` file, and with an empty log, nobody has the database open and the main
 * file is complete.
 */
export function isImmutable(path: string): boolean {
  const file = realPath(path);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  return !existsSync(`${file}-shm`) && (log?.size ?? 0) === 0 && isOnReadOnlyDisk(file);
}
