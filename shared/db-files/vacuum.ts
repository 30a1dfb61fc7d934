import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { withBusyTimeout } from '../db/busy-timeout.ts';
import { type Opened, orClose, type Sqlite } from '../db/connect.ts';
import { noteVacuum, readErasures } from '../db/erasures.ts';
import { guardDatabase } from '../db/faults.ts';
import { realPath } from '../db/real-path.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { emptyLog } from './empty-log.ts';
import { lockForVacuum } from './import-lock.ts';
import { databaseSize } from './size.ts';

/** The disk space that a VACUUM needs, and the free disk space, in bytes. */
export type Room = { neededBytes: number; freeBytes: number };

/**
 * The free space that a VACUUM needs, as a multiple of the size of the database. It writes the database twice, to a
 * temporary file and to the write-ahead log; the rest is for the log's overhead and for other writers.
 */
const ROOM_TIMES = 2.1;

/** How long a VACUUM waits for running imports and other vacuums, unless it is told to wait longer. */
const LOCK_WAIT_MS = 500;

/**
 * How long a VACUUM waits that has to run between consecutive imports: longer than an import of a backend usually
 * takes. No other import starts in the meantime.
 */
export const PATIENT_WAIT_MS = 60_000;

/**
 * How many times to try to empty the log before and after a VACUUM, while others use the database. Each try, and the
 * pause after it, takes up to LOG_WAIT_MS. A try blocks writers while it waits for readers.
 */
const LOG_TRIES = { before: 10, after: 300 };
const LOG_WAIT_MS = 100;

/**
 * Rewrites the database file without copies of erased text, and empties its write-ahead log. Others can read in the
 * meantime, but writers wait. Throws `busy` if a key is being approved, if an import or another vacuum runs for longer
 * than `waitMs`, or if other readers or writers take too long; throws `refused` if the disk has too little space. A failure
 * changes no data. Returns how long it took, and the size of the database file before and after.
 */
export function vacuumDatabase(db: Opened, clock: Clock, waitMs = LOCK_WAIT_MS) {
  const startedMs = clock.monotonicMs();
  const { $client: sqlite } = db;
  const path = sqlite.filename;
  using _ = prepareVacuum(db, clock, waitMs);
  return guardDatabase(path, () => {
    // A reader of the log, such as a backup, would keep everything that the VACUUM writes in the log, so wait for it
    // first.
    emptyLogPatiently(db, LOG_TRIES.before);
    const { main: bytesBefore } = databaseSize(path);
    const { lastSeq } = readErasures(sqlite);
    keepTemporaryFilesBeside(sqlite, path);
    sqlite.run('VACUUM');
    emptyLogPatiently(db, LOG_TRIES.after);
    noteVacuum(sqlite, lastSeq, clock);
    const { main: bytesAfter } = databaseSize(path);
    return { milliseconds: Math.round(clock.monotonicMs() - startedMs), bytesBefore, bytesAfter };
  });
}

/**
 * The minimum time between two VACUUMs of a server: about a day, so that copies of erased text last less than 24
 * hours.
 */
const VACUUM_EVERY_MS = 23 * 3_600_000;

/**
 * Whether a server should vacuum now: copies of erased text may be left, and the last VACUUM that removed any was at
 * least 23 hours ago, or is in the future because the clock was set back.
 */
export function isVacuumDue({ $client: sqlite }: Opened, nowMs: number): boolean {
  const { tracesSinceMs, vacuumedAtMs } = guardDatabase(sqlite.filename, () => readErasures(sqlite));
  if (tracesSinceMs === null) return false;
  return vacuumedAtMs === null || nowMs < vacuumedAtMs || nowMs >= vacuumedAtMs + VACUUM_EVERY_MS;
}

/**
 * Checks that a VACUUM can begin, and takes its lock, which blocks imports and other vacuums until it is closed. Waits
 * up to `waitMs` for the lock. Throws `refused` if the disk has too little space, and `busy` if a key is being approved or
 * the lock is taken.
 */
export function prepareVacuum({ $client: sqlite }: Opened, clock: Clock, waitMs: number): Sqlite {
  const path = sqlite.filename;
  const { neededBytes, freeBytes } = vacuumRoom(path);
  if (freeBytes < neededBytes) throw fileRefusal(roomSentence({ neededBytes, freeBytes }));
  return orClose(lockForVacuum(path, waitMs), (lock) => {
    const attempt = guardDatabase(path, () =>
      sqlite.query("SELECT 1 FROM key_attempts WHERE result = 'open' AND lease_ends_at > ?").get(clock.nowMs()),
    );
    if (attempt !== null) throw new AppError('busy', 'A key is being approved; try again when that is finished.');
    return lock;
  });
}

/** Reads how much disk space a VACUUM of this database needs, and how much is free. */
export function vacuumRoom(databasePath: string): Room {
  const path = realPath(databasePath);
  const { main, wal } = databaseSize(path);
  const { bavail, bsize } = statfsSync(dirname(path));
  return { neededBytes: Math.ceil(ROOM_TIMES * (main + wal)), freeBytes: bavail * bsize };
}

/** A sentence that says how much disk space is missing, and what to do. */
export function roomSentence({ neededBytes, freeBytes }: Room): string {
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return `A vacuum needs ${mebibytes(neededBytes)} on the disk of the database, but only ${mebibytes(freeBytes)} is free; free up some space.`;
}

/**
 * Makes SQLite write its temporary copy, with all private fields, beside the database. By default it may use a folder
 * such as /var/tmp, which may have less space.
 */
function keepTemporaryFilesBeside(sqlite: Sqlite, path: string): void {
  const folder = dirname(realPath(path)).replaceAll("'", "''");
  sqlite.run(`PRAGMA temp_store_directory = '${folder}'`);
}

function emptyLogPatiently(db: Opened, tries: number): void {
  for (let attempt = 0; attempt < tries; attempt++) {
    if (withBusyTimeout(db.$client, LOG_WAIT_MS, () => emptyLog(db)) === null) return;
    Bun.sleepSync(LOG_WAIT_MS);
  }
  throw new AppError('busy', `Other processes are using ${db.$client.filename}; try again when they are finished.`);
}
