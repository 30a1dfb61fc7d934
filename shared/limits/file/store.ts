import { closeSync, fdatasync, openSync, renameSync } from 'node:fs';
import { promisify } from 'node:util';
import { openFile, type Sqlite } from '../../db/connect.ts';
import { realPath } from '../../db/disk.ts';
import { convertFormerTables } from './former.ts';
import { isIntact, type LogRow } from './row.ts';

/**
 * The file in which limits outlive the process: an SQLite file of its own beside the main database, so that a long import
 * can't hold it up. What it holds is worth no more than the windows it covers, so an unreadable file is set aside and a
 * new one begun.
 */
export type QuotaStore = {
  /** The time of the latest row when the file was opened, and the number of rows written ever; 0 where there is no row. */
  lastTime: number;
  lastRow: number;
  /** The new name of a file that was damaged or not ours, where there was one. */
  setAside: string | null;
  /** All rows, oldest first. */
  rows: () => Iterable<LogRow>;
  /** The oldest rows in short, some tens of them. */
  oldestRows: () => RowHead[];
  /**
   * Adds rows, and deletes those whose number is below `keptFrom`: all or nothing. A crash of the program does not undo
   * it. Throws where the file can't be written.
   */
  save: (rows: readonly LogRow[], keptFrom: number) => void;
  /**
   * Brings what was saved to the disk, so that a power cut does not undo it either, in a thread of the runtime: no request
   * waits for the disk. Calls that come meanwhile share the next turn. Rejects where the disk refuses.
   */
  sync: () => Promise<void>;
  /** Brings what was saved to the disk, waiting for it, and closes the file. Throws where the disk refuses. */
  close: () => void;
};

/** A row without what it says of the accounts. */
export type RowHead = { seq: number; identifiers: string };

/** "PLQ3" in the file's header, and before it "PLQ2", which is converted; any other file is set aside. */
const APPLICATION_ID = 0x504c5133;
const FORMER_ID = 0x504c5132;

const LOG_TABLE = `CREATE TABLE log (seq INTEGER PRIMARY KEY, time REAL NOT NULL, identifiers TEXT NOT NULL,
  numbers BLOB NOT NULL, stamps BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT`;

/** Requests wait for this lock, and only another program could hold it. */
const BUSY_TIMEOUT_MS = 50;

/**
 * After so many pages (16 MB) SQLite brings what it has written aside into the file itself. That waits for the disk in the
 * thread that saves, so it is four times as rare as SQLite would have it.
 */
const CHECKPOINT_PAGES = 4_000;

/** The quota file that belongs to a main database: `profiles.db` has `profiles.db.quotas`. */
export function quotaPath(databasePath: string): string {
  return `${realPath(databasePath)}.quotas`;
}

/** Opens or creates the store. Throws where there can be no such file, for example for want of room. */
export function openQuotaStore(path: string, nowMs: number): QuotaStore {
  try {
    return openStore(path, null);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    const setAside = `${path}.unreadable-${nowMs}`;
    for (const suffix of ['', '-wal', '-shm']) renameIfThere(path + suffix, setAside + suffix);
    return openStore(path, setAside);
  }
}

const NOT_OURS = 'not a quota file of Profile Lookup';

function isUnreadable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === NOT_OURS || /^SQLITE_(NOTADB|CORRUPT|ERROR)/.test((error as { code?: string }).code ?? '');
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
  }
}

function openStore(path: string, setAside: string | null): QuotaStore {
  const sqlite = openFile(path, BUSY_TIMEOUT_MS);
  try {
    // NORMAL: a commit is written to the write-ahead log, but does not wait for the disk; `sync` brings it there.
    sqlite.run('PRAGMA synchronous = NORMAL');
    sqlite.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    prepareTables(sqlite);
    return storeOn(sqlite, setAside);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function prepareTables(sqlite: Sqlite): void {
  const { application_id: id } = sqlite.prepare('PRAGMA application_id').get() as { application_id: number };
  const { tables } = sqlite.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (id === APPLICATION_ID) return;
  if (id !== FORMER_ID && (id !== 0 || tables > 0)) throw new Error(NOT_OURS);
  sqlite.transaction(() => {
    sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    if (id === FORMER_ID) convertFormerTables(sqlite, LOG_TABLE, (rows) => insertRows(sqlite, rows));
    else sqlite.run(LOG_TABLE);
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

function storeOn(sqlite: Sqlite, setAside: string | null): QuotaStore {
  const readRows = sqlite.prepare<LogRow, []>('SELECT * FROM log ORDER BY seq');
  const readHeads = sqlite.prepare<RowHead, []>('SELECT seq, identifiers FROM log ORDER BY seq LIMIT 32');
  const deleteBefore = sqlite.prepare<undefined, [number]>('DELETE FROM log WHERE seq < ?');
  const save = sqlite.transaction((rows: readonly LogRow[], keptFrom: number) => {
    deleteBefore.run(keptFrom);
    insertRows(sqlite, rows);
  });
  const newest = sqlite.query<LogRow, []>('SELECT * FROM log ORDER BY seq DESC LIMIT 8').all();
  const disk: Disk = { path: `${sqlite.filename}-wal`, file: null, running: null, next: null, isClosed: false };
  return {
    lastTime: newest.find(isIntact)?.time ?? 0,
    lastRow: newest[0]?.seq ?? 0,
    setAside,
    rows: () => readRows.iterate(),
    oldestRows: () => readHeads.all(),
    save: (rows, keptFrom) => save.immediate(rows, keptFrom),
    sync: () => syncDisk(disk),
    close: () => {
      try {
        // Closing does this too, but not while another program has the file open.
        sqlite.run('PRAGMA wal_checkpoint(PASSIVE)');
      } finally {
        sqlite.close();
        closeDisk(disk);
      }
    },
  };
}

/** The write-ahead log on its way to the disk: the turn that runs, and the one that begins after it. */
type Disk = {
  readonly path: string;
  file: number | null;
  running: Promise<void> | null;
  next: Promise<void> | null;
  isClosed: boolean;
};

function syncDisk(disk: Disk): Promise<void> {
  if (disk.running === null) return startSync(disk);
  // What was saved since the running turn has begun may not be in it.
  disk.next ??= disk.running.catch(() => undefined).then(() => startSync(disk));
  return disk.next;
}

function startSync(disk: Disk): Promise<void> {
  disk.next = null;
  disk.running = syncOnce(disk).finally(() => {
    disk.running = null;
    if (disk.isClosed) closeDisk(disk);
  });
  return disk.running;
}

async function syncOnce(disk: Disk): Promise<void> {
  // Closing has brought everything to the disk.
  if (disk.isClosed) return;
  disk.file ??= openSync(disk.path, 'r');
  await promisify(fdatasync)(disk.file);
}

function closeDisk(disk: Disk): void {
  disk.isClosed = true;
  // A number that is closed while a thread uses it may be another file's by then.
  if (disk.file === null || disk.running !== null) return;
  closeSync(disk.file);
  disk.file = null;
}
