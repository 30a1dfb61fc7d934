import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Opened, Sqlite } from '../db/connect.ts';
import { readFact } from '../db/facts.ts';
import { guardDatabase } from '../db/faults.ts';
import { realPath } from '../db/real-path.ts';
import { prepareWrite } from '../db/write.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { bytesText } from '../text.ts';
import { databaseSize } from './disk.ts';
import { emptyLog } from './log.ts';

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
export function isVacuumWanted({ $client: sqlite }: Opened): boolean {
  return guardDatabase(sqlite.filename, () => readFact(sqlite, 'vacuum wanted') !== null);
}

/**
 * Rewrites the database file without copies of erased text, and empties its write-ahead log. Others can read in the
 * meantime, but writers wait. Throws `busy` if a key is being approved, or other readers or writers take too long, and
 * `refused` if the disk has too little space. A failure changes no data. Returns how long it took, and the size of the
 * database file before and after.
 */
export function vacuumDatabase({ $client: sqlite }: Opened, clock: Clock) {
  const startedMs = clock.monotonicMs();
  const path = sqlite.filename;
  return guardDatabase(path, () => {
    refuseLittleRoom(path);
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
    if (wanted !== null) prepareWrite(sqlite, () => done.run(wanted))();
    const { main: bytesAfter } = databaseSize(path);
    return { milliseconds: Math.round(clock.monotonicMs() - startedMs), bytesBefore, bytesAfter };
  });
}

/** A sentence if the disk has too little space for a VACUUM of this database; otherwise null. */
export function vacuumRoomFault(databasePath: string): string | null {
  const path = realPath(databasePath);
  const { main, wal } = databaseSize(path);
  const { bavail, bsize } = statfsSync(dirname(path));
  const neededBytes = Math.ceil(ROOM_TIMES * (main + wal));
  if (bavail * bsize >= neededBytes) return null;
  return `A vacuum needs ${bytesText(neededBytes)} on the disk of the database, but only ${bytesText(bavail * bsize)} is free; free up some space.`;
}

function refuseLittleRoom(path: string): void {
  const fault = vacuumRoomFault(path);
  if (fault !== null) throw fileRefusal(fault);
}

/** Moves the write-ahead log into the file and truncates it, so that no erased text is left in it. */
function emptyLogPatiently(sqlite: Sqlite, tries: number): void {
  for (let attempt = 0; attempt < tries; attempt++) {
    if (emptyLog(sqlite, LOG_WAIT_MS)) return;
    Bun.sleepSync(LOG_WAIT_MS);
  }
  throw new AppError('busy', `Other processes are using ${sqlite.filename}; try again when they are finished.`);
}
