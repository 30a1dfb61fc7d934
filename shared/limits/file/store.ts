import { closeSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { isEmpty, readApplicationId, writeApplicationId } from '../../db/catalog.ts';
import { openFile, orClose, type Sqlite } from '../../db/connect.ts';
import { isDamage } from '../../db/faults.ts';
import { realPath } from '../../db/real-path.ts';
import { closeDisk, diskOf, syncDisk } from './disk.ts';
import { isIntact, type LogRow } from './row.ts';

/**
 * The file that keeps quotas across restarts: an SQLite file beside the main database, separate so that a long import can't delay
 * a save. Its contents matter only for the length of the windows, so an unreadable file is renamed and a new one is started.
 */
export type QuotaStore = {
  /** The time of the newest intact row, and the number of the newest row, as of opening; 0 without rows. */
  lastTime: number;
  lastRow: number;
  /** The new path of an unreadable file that was renamed. */
  setAside: string | null;
  /** False if the file or its write-ahead log was moved, deleted or replaced. */
  isInPlace: () => boolean;
  /** All rows, oldest first. */
  rows: () => Iterable<LogRow>;
  /** The numbers and identifiers of the 32 oldest rows. */
  oldestRows: () => RowHead[];
  /**
   * Adds rows, and deletes those below `keptFrom`, in one transaction that survives a crash of the program. Throws if the file
   * can't be written.
   */
  save: (rows: readonly LogRow[], keptFrom: number) => void;
  /**
   * Flushes all saves to disk, so that they survive a power cut. A thread of the runtime waits for the disk, so that no request
   * has to. Calls during a flush share the next flush. Rejects if the disk fails.
   */
  sync: () => Promise<void>;
  /** Flushes all saves to disk, and closes the file. Throws if the disk fails. */
  close: () => void;
};

/** The number of a row and its identifiers. */
export type RowHead = { seq: number; identifiers: string };

/** The application id in the file's header, "PLQ3". A file with another id is unreadable. */
export const APPLICATION_ID = 0x504c5133;

const LOG_TABLE = `CREATE TABLE log (seq INTEGER PRIMARY KEY, time REAL NOT NULL, identifiers TEXT NOT NULL,
  numbers BLOB NOT NULL, stamps BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT`;

/** How long a save, and with it requests, waits for a lock. Only another program could hold it. */
const BUSY_TIMEOUT_MS = 50;

/** 16 MB, four times the default, because the saving thread waits for the disk during a checkpoint. */
const CHECKPOINT_PAGES = 4_000;

/** The path of the quota file of a main database: `profiles.db.quotas` for `profiles.db`. */
export function quotaPath(databasePath: string): string {
  return `${realPath(databasePath)}.quotas`;
}

/**
 * Opens or creates the store; an unreadable file gets a new name that ends with `nowMs`. With `isRecreated`, the file records that
 * it replaces one that was lost while a server ran ({@link readRecreatedAt}). Throws if the file can't be opened or created, for
 * example because the disk is full.
 */
export function openQuotaStore(path: string, nowMs: number, isRecreated = false): QuotaStore {
  const recreatedAtMs = isRecreated ? nowMs : null;
  try {
    return openTwice(path, recreatedAtMs);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    const setAside = `${path}.unreadable-${nowMs}`;
    for (const suffix of ['', '-wal', '-shm']) renameIfThere(path + suffix, setAside + suffix);
    return openStore(path, setAside, recreatedAtMs);
  }
}

// SQLite also reports damage if one read fails (EIO), so a file must fail twice.
function openTwice(path: string, recreatedAtMs: number | null): QuotaStore {
  try {
    return openStore(path, null, recreatedAtMs);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return openStore(path, null, recreatedAtMs);
  }
}

/** SQLite's user version of the file is the minute (since 1970) in which it was recreated; 0 if it never was. */
const MINUTE_MS = 60_000;

/** The offset of the user version in the file's header: four bytes, big-endian. */
const USER_VERSION_AT = 60;

/**
 * When a running server recreated the quota file, because somebody had moved, deleted or replaced it, in milliseconds since 1970,
 * to the minute. Null if that never happened, or the file can't be read. Opens no database, so that it disturbs no server.
 */
export function readRecreatedAt(databasePath: string): number | null {
  const version = Buffer.alloc(4);
  try {
    const file = openSync(quotaPath(databasePath), 'r');
    try {
      readSync(file, version, 0, version.length, USER_VERSION_AT);
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
  const minute = version.readInt32BE();
  return minute > 0 ? minute * MINUTE_MS : null;
}

const NOT_OURS = 'not a quota file of Profile Lookup';

function isUnreadable(error: unknown): boolean {
  return isDamage(error) || (error instanceof Error && error.message === NOT_OURS);
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
  }
}

function openStore(path: string, setAside: string | null, recreatedAtMs: number | null): QuotaStore {
  // A commit does not wait for the disk; `sync` flushes the write-ahead log.
  const sqlite = openFile(path, BUSY_TIMEOUT_MS, { isDurable: false });
  return orClose(sqlite, () => {
    sqlite.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    // The rows hold nothing private, and overwriting each that is deleted would double what a save writes.
    sqlite.run('PRAGMA secure_delete = OFF');
    prepareTables(sqlite);
    if (recreatedAtMs !== null) {
      sqlite.run(`PRAGMA user_version = ${Math.floor(recreatedAtMs / MINUTE_MS)}`);
      sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
    }
    return storeOn(sqlite, setAside);
  });
}

function prepareTables(sqlite: Sqlite): void {
  const id = readApplicationId(sqlite);
  if (id === APPLICATION_ID) return;
  if (id !== 0 || !isEmpty(sqlite)) throw new Error(NOT_OURS);
  sqlite.transaction(() => {
    writeApplicationId(sqlite, APPLICATION_ID);
    sqlite.run(LOG_TABLE);
  })();
}

function insertRows(sqlite: Sqlite, rows: readonly LogRow[]): void {
  const insert = sqlite.prepare<undefined, [number, number, string, Uint8Array, Uint8Array, number]>(
    'INSERT INTO log (seq, time, identifiers, numbers, stamps, checksum) VALUES (?, ?, ?, ?, ?, ?)',
  );
  for (const { seq, time, identifiers, numbers, stamps, checksum } of rows) {
    insert.run(seq, time, identifiers, numbers, stamps, checksum);
  }
}

function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

function storeOn(sqlite: Sqlite, setAside: string | null): QuotaStore {
  const readRows = sqlite.prepare<LogRow, []>('SELECT * FROM log ORDER BY seq');
  const readHeads = sqlite.prepare<RowHead, []>('SELECT seq, identifiers FROM log ORDER BY seq LIMIT 32');
  const deleteBefore = sqlite.prepare<undefined, [number]>('DELETE FROM log WHERE seq < ?');
  const save = sqlite.transaction((rows: readonly LogRow[], keptFrom: number) => {
    deleteBefore.run(keptFrom);
    insertRows(sqlite, rows);
  });
  const newest = sqlite.query<LogRow, []>('SELECT * FROM log ORDER BY seq DESC LIMIT 8').all();
  const log = `${sqlite.filename}-wal`;
  const disk = diskOf(log);
  const [inode, logInode] = [inodeOf(sqlite.filename), inodeOf(log)];
  return {
    lastTime: newest.find(isIntact)?.time ?? 0,
    lastRow: newest[0]?.seq ?? 0,
    setAside,
    isInPlace: () => inodeOf(sqlite.filename) === inode && inodeOf(log) === logInode,
    rows: () => readRows.iterate(),
    oldestRows: () => readHeads.all(),
    save: (rows, keptFrom) => save.immediate(rows, keptFrom),
    sync: () => syncDisk(disk),
    close: () => {
      try {
        // Closing the last connection also checkpoints, but not while another program has the file open, or if the file was
        // moved; then the remaining log must not be mistaken for that of a new file.
        sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
      } finally {
        sqlite.close();
        closeDisk(disk);
      }
    },
  };
}
