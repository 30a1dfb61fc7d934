import { existsSync, readdirSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isOnReadOnlyDisk, realPath } from '../db/real-path.ts';
import { fileRefusal } from '../errors.ts';
import { bytesText } from '../text.ts';
import { databaseSize } from './size.ts';

// The disk of a database: a second name of the file, a full disk, and the reserve file that makes room on it.

/**
 * The size of the reserve file, which is emptied to make room on a full disk. To open a database SQLite has to create a
 * file of 32 KiB beside it (`-shm`) and another beside the quota file, with another 32 KiB for each 16 MiB of
 * write-ahead log left by a crash.
 */
const RESERVE_BYTES = 262_144;

/** With less free space than this, the disk counts as full in the warning to the operator. */
const FULL_BYTES = 1_048_576;

/** The operator is warned if less than this share of the disk, or this many times the size of the database, is free. */
const LOW_SHARE = 0.1;
const LOW_TIMES = 3;

/**
 * Throws `refused` if the database has a second name (a hard link), unless the database is in use by this name.
 * SQLite's write-ahead log and the server's lock are files beside the name used, so programs that use different names
 * would damage the database. A `-shm` file shows that the name beside it is in use, or was when a program crashed. A
 * second name left by a killed `db restore` is allowed: no program uses it. While a restore is still running, its lock
 * makes everybody wait, and afterwards SQLite refuses to write to the old file (SQLITE_READONLY_DBMOVED).
 */
export function refuseSecondName(path: string): void {
  const file = realPath(path);
  const links = statSync(file, { throwIfNoEntry: false })?.nlink ?? 1;
  if (links < 2 || existsSync(`${file}-shm`) || links - 1 === namesOfRestores(file)) return;
  throw fileRefusal(
    `The database ${path} has a second name (a hard link), under which another server may be using it; find that name with "find / -samefile ${path}", and remove it or replace it with a copy.`,
  );
}

/** Counts the names that `db restore` gave to a database before replacing it. */
function namesOfRestores(file: string): number {
  const { dev, ino } = statSync(file);
  const names = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}.before-restore-`));
  return names.filter((name) => {
    const found = statSync(join(dirname(file), name), { throwIfNoEntry: false });
    return found?.dev === dev && found.ino === ino;
  }).length;
}

/**
 * Empties the reserve file, if there is one, the disk has too little room to open the database, and nobody has the
 * database open.
 */
export function spendReserve(path: string): void {
  const file = realPath(path);
  if (existsSync(`${file}-shm`) || !reservedBytes(file) || freeBytes(file) >= RESERVE_BYTES) return;
  ignoringFaults(() => truncateSync(reservePath(file)));
}

/** Creates or refills the reserve file if at least 1 MiB is free on the disk. */
export function makeReserve(path: string): void {
  const file = realPath(path);
  if (reservedBytes(file) !== RESERVE_BYTES && freeBytes(file) >= FULL_BYTES) fillReserve(file);
}

/** Refills an existing reserve file as far as there is room, once nobody has the database open. */
export function refillReserve(path: string): void {
  const file = realPath(path);
  const reserved = reservedBytes(file);
  if (reserved !== null && reserved < RESERVE_BYTES && !existsSync(`${file}-shm`)) fillReserve(file);
}

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

/** A sentence if the disk of this database is read-only, full, or has little room left; otherwise null. */
export function diskWarning(path: string): string | null {
  const file = realPath(path);
  const effect = 'lookups are served, but quotas, usage, reminders, backups and the changes of commands';
  if (isOnReadOnlyDisk(file)) return `The disk of ${path} is read-only: ${effect} can't be written.`;
  if (freeBytes(file) >= FULL_BYTES) return lowWarning(path);
  return `The disk of ${path} is full (less than 1 MiB is left): ${effect} can't be written until there is space.`;
}

function lowWarning(path: string): string | null {
  const room = readDiskRoom(path);
  if (room === null) return null;
  const { freeBytes, totalBytes } = room;
  const { main, wal } = databaseSize(realPath(path));
  const wantedBytes = LOW_TIMES * (main + wal);
  if (freeBytes >= LOW_SHARE * totalBytes && freeBytes >= wantedBytes) return null;
  const left = `${bytesText(freeBytes)} left, ${Math.floor((100 * freeBytes) / totalBytes)}% of it`;
  return `The disk of ${path} has ${left}. Backups, upgrades and VACUUM may fail with less than ${100 * LOW_SHARE}%, or less than three times the database's size (${bytesText(wantedBytes)}).`;
}

function reservePath(file: string): string {
  return `${file}.reserve`;
}

function reservedBytes(file: string): number | null {
  return statSync(reservePath(file), { throwIfNoEntry: false })?.size ?? null;
}

function freeBytes(file: string): number {
  // If the folder does not exist yet, the disk counts as having room; creating the folder will report the error.
  return readDiskRoom(file)?.freeBytes ?? Number.POSITIVE_INFINITY;
}

function fillReserve(file: string): void {
  ignoringFaults(() => writeFileSync(reservePath(file), new Uint8Array(RESERVE_BYTES), { mode: 0o600 }));
}

/**
 * Runs a function and ignores its errors: a database works without a reserve, and the next operation that needs the
 * disk reports its error.
 */
function ignoringFaults(act: () => void): void {
  try {
    act();
  } catch {
    // The reserve is optional.
  }
}
