import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isOnReadOnlyDisk, realPath } from '../db/real-path.ts';
import { bytesText } from '../text.ts';

/** With less free space than this, the disk counts as full in the warning to the operator. */
const FULL_BYTES = 1_048_576;

/** The operator is warned if less than this share of the disk, or this many times the size of the database, is free. */
const LOW_SHARE = 0.1;
const LOW_TIMES = 3;

/** The disk space free for the user of this process, and the disk's size. */
export type DiskRoom = { freeBytes: number; totalBytes: number };

/** Reads the disk space; null if the folder does not exist yet, or the file system does not report it. */
export function readDiskRoom(path: string): DiskRoom | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(dirname(realPath(path)));
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return null;
  }
}

/** The sizes in bytes of a database's main file and of its write-ahead log; 0 for a missing file. */
export function databaseSize(path: string): { main: number; wal: number } {
  const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return { main: bytes(path), wal: bytes(`${path}-wal`) };
}

/** A sentence if the disk of this database is read-only, full, or has little room left; otherwise null. */
export function diskWarning(path: string): string | null {
  const effect = 'lookups are served, but quotas, usage, reminders, backups and the changes of commands';
  if (isOnReadOnlyDisk(path)) return `The disk of ${path} is read-only: ${effect} can't be written.`;
  const room = readDiskRoom(path);
  if (room === null) return null;
  const { freeBytes, totalBytes } = room;
  if (freeBytes < FULL_BYTES) {
    return `The disk of ${path} is full (less than 1 MiB is left): ${effect} can't be written until there is space.`;
  }
  const { main, wal } = databaseSize(realPath(path));
  const wantedBytes = LOW_TIMES * (main + wal);
  if (freeBytes >= LOW_SHARE * totalBytes && freeBytes >= wantedBytes) return null;
  const left = `${bytesText(freeBytes)} left, ${Math.floor((100 * freeBytes) / totalBytes)}% of it`;
  return `The disk of ${path} has ${left}. Backups, upgrades and VACUUM may fail with less than ${100 * LOW_SHARE}%, or less than three times the database's size (${bytesText(wantedBytes)}).`;
}
