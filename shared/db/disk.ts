import {
  accessSync,
  constants,
  existsSync,
  realpathSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../errors.ts';

// What the file system under a database allows: another name of the file, a disk without room, a disk that is read-only.

/**
 * The size of the reserve file. To open a database SQLite must make a file of 32 KiB beside it (`-shm`), and as much
 * beside the quota file, with 32 KiB more for each 16 MiB of a write-ahead log that a crash has left.
 */
const RESERVE_BYTES = 262_144;

/** With less free room than this the operator is told that the disk is full. */
const FULL_BYTES = 1_048_576;

/** The file itself where the path is a symbolic link to it, so that the files beside it are found by each name. */
export function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/**
 * Throws `refused` where the database has a second name by a hard link and is not in use by this one. SQLite keeps a
 * write-ahead log and the server its lock beside each name, so that users of two names would damage the file. The `-shm`
 * file lies beside the name that is in use, or that was in use when a program crashed.
 */
export function refuseSecondName(path: string): void {
  const file = realPath(path);
  const links = statSync(file, { throwIfNoEntry: false })?.nlink ?? 1;
  if (links < 2 || existsSync(`${file}-shm`)) return;
  throw new AppError(
    'refused',
    `The database ${path} has a second name (a hard link), by which another server may be using it; remove that name, which "find / -samefile ${path}" finds, or replace it by a copy.`,
  );
}

/** Whether the file is on a disk that nobody can write on, root included. */
export function isOnReadOnlyDisk(path: string): boolean {
  try {
    accessSync(dirname(realPath(path)), constants.W_OK);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === 'EROFS';
  }
}

/**
 * Whether a file has to be read as one that never changes: on a read-only disk SQLite can't make the files that WAL mode
 * needs beside it. Where there are none, nobody has the database open and all of it is in the one file.
 */
export function isImmutable(path: string): boolean {
  const file = realPath(path);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  return !existsSync(`${file}-shm`) && (log?.size ?? 0) === 0 && isOnReadOnlyDisk(file);
}

/**
 * Empties the reserve file where the disk has too little room to open the database, and nobody has it open yet. Does
 * nothing where there is no such file.
 */
export function spendReserve(path: string): void {
  const file = realPath(path);
  if (existsSync(`${file}-shm`) || !reservedBytes(file) || freeBytes(file) >= RESERVE_BYTES) return;
  ignoringFaults(() => truncateSync(reservePath(file)));
}

/** Makes the reserve file, or fills it up again, where the disk has room enough for others too. */
export function makeReserve(path: string): void {
  const file = realPath(path);
  if (reservedBytes(file) !== RESERVE_BYTES && freeBytes(file) >= FULL_BYTES) fillReserve(file);
}

/** Fills the reserve file up as far as there is room, where nobody has the database open any more. */
export function refillReserve(path: string): void {
  const file = realPath(path);
  const reserved = reservedBytes(file);
  if (reserved !== null && reserved < RESERVE_BYTES && !existsSync(`${file}-shm`)) fillReserve(file);
}

/** A sentence on what can't be written because the disk of this database is read-only or full, or null. */
export function diskWarning(path: string): string | null {
  const file = realPath(path);
  const effect = 'lookups are served, but quotas, usage, reminders, backups and whatever a command changes';
  if (isOnReadOnlyDisk(file)) return `The disk of ${path} is read-only: ${effect} can't be written.`;
  if (freeBytes(file) >= FULL_BYTES) return null;
  return `The disk of ${path} is full (less than 1 MiB is left): ${effect} can't be written until there is room.`;
}

function reservePath(file: string): string {
  return `${file}.reserve`;
}

/** Null where there is no reserve file. */
function reservedBytes(file: string): number | null {
  return statSync(reservePath(file), { throwIfNoEntry: false })?.size ?? null;
}

function freeBytes(file: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize;
  } catch {
    // The folder is not there yet; whoever makes it will be told what is wrong with it.
    return Number.POSITIVE_INFINITY;
  }
}

function fillReserve(file: string): void {
  ignoringFaults(() => writeFileSync(reservePath(file), new Uint8Array(RESERVE_BYTES), { mode: 0o600 }));
}

/** Without its reserve a database is as usable as before: what is wrong with the disk is found by whoever needs it. */
function ignoringFaults(act: () => void): void {
  try {
    act();
  } catch {
    // See above.
  }
}
