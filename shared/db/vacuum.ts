import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { withBusyTimeout } from './busy-timeout.ts';
import type { Opened, Sqlite } from './connect.ts';
import { realPath } from './disk.ts';
import { emptyLog } from './empty-log.ts';
import { noteVacuum, readErasures } from './erasures.ts';
import { guardDatabase } from './faults.ts';
import { lockForVacuum } from './import-lock.ts';
import { databaseSize } from './size.ts';

/** What a VACUUM did: how long it took, and the size of the database file before and after. */
export type Vacuumed = { milliseconds: number; bytesBefore: number; bytesAfter: number };

/** The room on the disk that a VACUUM needs, and the room that there is, bytes. */
export type Room = { neededBytes: number; freeBytes: number };

const DAY_MS = 86_400_000;

/**
 * A VACUUM writes the whole database twice before it takes its place: into a temporary file, and into the write-ahead log.
 * The log adds a little to each page, and other writers need some room meanwhile.
 */
const ROOM_TIMES = 2.1;

/** How long a VACUUM waits for imports and other vacuums to end. */
const LOCK_WAIT_MS = 500;

/**
 * How often the log is tried to be emptied while others use the database, before a VACUUM and after it, and how long each
 * try and the pause after it takes. A try keeps writers out while it waits for readers.
 */
const LOG_TRIES = { before: 10, after: 300 };
const LOG_WAIT_MS = 100;

/**
 * Writes the database file anew, without any copy of an erased text, and empties its write-ahead log. Others read meanwhile;
 * who writes waits. Throws `busy` where an approval attempt, an import or another vacuum is open, or somebody writes or reads
 * for longer than it waits, and `refused` without room on the disk. Whatever stops it, the database is as it was.
 */
export function vacuumDatabase(db: Opened, clock: Clock): Vacuumed {
  const startedMs = clock.monotonicMs();
  const { $client: sqlite } = db;
  const path = sqlite.filename;
  const lock = prepareVacuum(db, clock.nowMs(), LOCK_WAIT_MS);
  try {
    return guardDatabase(path, () => {
      // Whoever keeps the log in use now, such as a backup, would keep all that the VACUUM writes there.
      emptyLogPatiently(db, LOG_TRIES.before);
      const { main: bytesBefore } = databaseSize(path);
      const { lastSeq } = readErasures(sqlite);
      keepTemporaryFilesBeside(sqlite, path);
      sqlite.run('VACUUM');
      emptyLogPatiently(db, LOG_TRIES.after);
      noteVacuum(sqlite, lastSeq, clock.nowMs());
      const { main: bytesAfter } = databaseSize(path);
      return { milliseconds: Math.round(clock.monotonicMs() - startedMs), bytesBefore, bytesAfter };
    });
  } finally {
    lock.close();
  }
}

/** Whether a server should vacuum now: copies of erased texts may be left, and none were removed on this day (UTC) yet. */
export function isVacuumDue({ $client: sqlite }: Opened, nowMs: number): boolean {
  const { tracesSinceMs, vacuumedAtMs } = guardDatabase(sqlite.filename, () => readErasures(sqlite));
  if (tracesSinceMs === null) return false;
  // Days are compared, not hours counted, so that an erasure right after a vacuum waits for less than a day, and a clock
  // that was set back can't put the next vacuum off for long.
  return vacuumedAtMs === null || dayOf(vacuumedAtMs) !== dayOf(nowMs);
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/**
 * Locks imports and other vacuums out, until the returned lock is closed, where nothing stands against a VACUUM; waits so long
 * for their lock, milliseconds. Throws what {@link vacuumDatabase} throws before it begins.
 */
export function prepareVacuum({ $client: sqlite }: Opened, nowMs: number, waitMs: number): Sqlite {
  const path = sqlite.filename;
  const { neededBytes, freeBytes } = vacuumRoom(path);
  if (freeBytes < neededBytes) throw new AppError('refused', roomSentence({ neededBytes, freeBytes }));
  const attempt = guardDatabase(path, () =>
    sqlite.query("SELECT 1 FROM key_attempts WHERE result = 'open' AND lease_ends_at > ?").get(nowMs),
  );
  if (attempt !== null) throw new AppError('busy', 'A key is being approved; try again when that is done.');
  return lockForVacuum(path, waitMs);
}

/** How much room a VACUUM of this database needs on its disk, and how much there is. */
export function vacuumRoom(databasePath: string): Room {
  const path = realPath(databasePath);
  const { main, wal } = databaseSize(path);
  const { bavail, bsize } = statfsSync(dirname(path));
  return { neededBytes: Math.ceil(ROOM_TIMES * (main + wal)), freeBytes: bavail * bsize };
}

/** Says that there is not enough room, and what to do. */
export function roomSentence({ neededBytes, freeBytes }: Room): string {
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return `A vacuum needs ${mebibytes(neededBytes)} on the disk of the database, and ${mebibytes(freeBytes)} are free; make room.`;
}

/** Else SQLite would write the copy, with all private fields, into a folder such as /var/tmp, which may have less room. */
function keepTemporaryFilesBeside(sqlite: Sqlite, path: string): void {
  const folder = dirname(realPath(path)).replaceAll("'", "''");
  sqlite.run(`PRAGMA temp_store_directory = '${folder}'`);
}

function emptyLogPatiently(db: Opened, tries: number): void {
  for (let turn = 0; turn < tries; turn++) {
    if (withBusyTimeout(db.$client, LOG_WAIT_MS, () => emptyLog(db)) === null) return;
    Bun.sleepSync(LOG_WAIT_MS);
  }
  throw new AppError('busy', `Others keep ${db.$client.filename} in use; try again when they are done.`);
}
