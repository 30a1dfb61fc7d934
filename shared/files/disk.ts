import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { type Db, leaveLogAlone, type Sqlite, withBusyTimeout } from '../db/connect.ts';
import { readFact } from '../db/facts.ts';
import { realPath } from '../db/file.ts';
import { write } from '../db/write.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { bytesText } from '../text.ts';

// The room that a database takes: on the disk, in its write-ahead log, and what erasures leave in it.

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
export function databaseSize(databasePath: string): { main: number; wal: number } {
  const path = realPath(databasePath);
  const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return { main: bytes(path), wal: bytes(`${path}-wal`) };
}

/** A sentence if the disk of this database is read-only, full, or has little room left; otherwise null. */
export function diskWarning(path: string): string | null {
  const effect = 'lookups are served, but quotas, usage, reminders, backups and the changes of commands';
  try {
    accessSync(realPath(path), constants.W_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT') return `The database ${path} may only be read (${code}): ${effect} can't be written.`;
  }
  const room = readDiskRoom(path);
  if (room === null) return null;
  const { freeBytes, totalBytes } = room;
  if (freeBytes < FULL_BYTES) {
    return `The disk of ${path} is full (less than 1 MiB is left): ${effect} can't be written until there is space.`;
  }
  const { main, wal } = databaseSize(path);
  const wantedBytes = LOW_TIMES * (main + wal);
  if (freeBytes >= LOW_SHARE * totalBytes && freeBytes >= wantedBytes) return null;
  const left = `${bytesText(freeBytes)} left, ${Math.floor((100 * freeBytes) / totalBytes)}% of it`;
  return `The disk of ${path} has ${left}. Backups, upgrades and VACUUM may fail with less than ${100 * LOW_SHARE}%, or less than three times the database's size (${bytesText(wantedBytes)}).`;
}

// The write-ahead log: the server's connections never copy it into the database (`leaveLogAlone`); a command that the server
// starts as a child does.

/** A log of this length is checkpointed, so that a page changed by many transactions is copied only once. */
export const MAX_LOG_BYTES = 16_777_216;

/**
 * Copies the log into the database and empties it, for which it waits up to `waitMs` milliseconds for readers. Nobody can
 * write while it waits. Returns false if readers or a writer took longer.
 */
export function emptyLog(sqlite: Sqlite, waitMs: number): boolean {
  // A passive checkpoint copies most pages without holding anybody up, so that the rest is short.
  sqlite.run('PRAGMA wal_checkpoint(PASSIVE)');
  const truncate = () => sqlite.query('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
  return withBusyTimeout(sqlite, waitMs, truncate).busy === 0;
}

/** Writes of an import are spread over all indexes. This cache holds their pages, so that not every batch reads them again. */
const CACHE_KIB = 32_768;

/** How long an import waits for readers. */
const MAX_WAIT_MS = 50;

/**
 * Prepares the connection of a command for writing a lot. Returns a function that empties the log if it has grown long, to be
 * called after each transaction: automatic checkpoints never start it anew while there is always some reader.
 */
export function keepLogShort(sqlite: Sqlite): () => void {
  const { wal_autocheckpoint: pages } = sqlite.query('PRAGMA wal_autocheckpoint').get() as Record<string, number>;
  if (pages === 0) return () => {};
  sqlite.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  leaveLogAlone(sqlite);
  let maxBytes = MAX_LOG_BYTES;
  return () => {
    const bytes = databaseSize(sqlite.filename).wal;
    if (bytes < maxBytes) return;
    // A long reader, such as a backup, must not cause a wait after every transaction.
    maxBytes = bytes + MAX_LOG_BYTES;
    try {
      if (emptyLog(sqlite, MAX_WAIT_MS)) maxBytes = MAX_LOG_BYTES;
    } catch {
      // Everything is committed in the log. If the disk is full or broken, the next write reports it.
    }
  };
}

/**
 * The free space that a VACUUM needs, as a multiple of the size of the database. It writes the database twice, to a
 * temporary file and to the write-ahead log; the rest is for the log's overhead and for other writers.
 */
const ROOM_TIMES = 2.1;

/**
 * How many times to try to empty the log before and after a VACUUM, while others use the database. Each try, and the
 * pause after it, takes up to LOG_WAIT_MS. A try blocks writers while it waits for readers.
 */
const LOG_TRIES = { before: 10, after: 300 };
const LOG_WAIT_MS = 100;

/** Whether copies of erased text may be left in the file. */
export function isVacuumWanted({ $client: sqlite }: Db): boolean {
  return readFact(sqlite, 'vacuum wanted') !== null;
}

/**
 * Rewrites the database file without copies of erased text, and empties its write-ahead log. Others can read in the
 * meantime, but writers wait. Throws `busy` if a key is being approved, or other readers or writers take too long, and
 * `refused` if the disk has too little space. A failure changes no data. Returns how long it took, and the size of the
 * database file before and after.
 */
export function vacuumDatabase(db: Db, clock: Clock) {
  const { $client: sqlite } = db;
  const startedMs = clock.monotonicMs();
  const path = sqlite.filename;
  const littleRoom = vacuumRoomFault(path);
  if (littleRoom !== null) throw fileRefusal(littleRoom);
  // What an approval stores when its mail was accepted must not wait for minutes.
  const attempt = sqlite.query("SELECT 1 FROM key_attempts WHERE result = 'open' AND lease_ends_at > ?");
  if (attempt.get(clock.nowMs()) !== null) {
    throw new AppError('busy', 'A key is being approved; try again when that is finished.');
  }
  // A reader of the log, such as a backup, would keep everything that the VACUUM writes in the log, so wait for it
  // first.
  emptyLogPatiently(sqlite, LOG_TRIES.before);
  const { main: bytesBefore } = databaseSize(path);
  const wanted = readFact(sqlite, 'vacuum wanted');
  // SQLite's own folder, such as /var/tmp, may have less space, and others may read it.
  const folder = dirname(realPath(path)).replaceAll("'", "''");
  sqlite.run(`PRAGMA temp_store_directory = '${folder}'`);
  sqlite.run('VACUUM');
  emptyLogPatiently(sqlite, LOG_TRIES.after);
  const done = sqlite.query("DELETE FROM facts WHERE name = 'vacuum wanted' AND value = ?");
  if (wanted !== null) write(db, () => done.run(wanted));
  const { main: bytesAfter } = databaseSize(path);
  return { milliseconds: Math.round(clock.monotonicMs() - startedMs), bytesBefore, bytesAfter };
}

/** A sentence if the disk has too little space for a VACUUM of this database; otherwise null. */
export function vacuumRoomFault(path: string): string | null {
  const { main, wal } = databaseSize(path);
  const neededBytes = Math.ceil(ROOM_TIMES * (main + wal));
  const room = readDiskRoom(path);
  if (room === null || room.freeBytes >= neededBytes) return null;
  return `A vacuum needs ${bytesText(neededBytes)} on the disk of the database, but only ${bytesText(room.freeBytes)} is free; free up some space.`;
}

/** Moves the write-ahead log into the file and truncates it, so that no erased text is left in it. */
function emptyLogPatiently(sqlite: Sqlite, tries: number): void {
  for (let attempt = 0; attempt < tries; attempt++) {
    if (emptyLog(sqlite, LOG_WAIT_MS)) return;
    Bun.sleepSync(LOG_WAIT_MS);
  }
  throw new AppError('busy', `Other processes are using ${sqlite.filename}; try again when they are finished.`);
}
