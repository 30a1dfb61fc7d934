import { renameSync } from 'node:fs';
import { realPath } from './disk.ts';
import { openFile, type Sqlite } from './open.ts';

/**
 * Where quotas outlive the process: a file of its own beside the main database, so that a long import can't hold it up.
 * What it holds is worth no more than the windows it covers, so an unreadable file is set aside and begun anew.
 */
export type QuotaStore = {
  /** What was stored when the file was opened, and the time that an earlier run had reached (0: none). */
  stored: { rows: QuotaRow[]; log: LogRow[]; lastTime: number };
  /** The new name of a file that was damaged or not ours, where there was one. */
  setAside: string | null;
  /** Writes all of this or nothing, and the time. Throws where it can't be written. */
  save: (changes: QuotaChanges, now: number) => void;
  close: () => void;
};

/** A page of a ring: some of its time stamps, and the ring's head when the page was written. */
export type QuotaRow = {
  identifier: string;
  windowSeconds: number;
  page: number;
  quota: number;
  head: number;
  /** Float64, in this machine's byte order. */
  stamps: Uint8Array;
};

/** What several accounts had spent between two saves (`shared/keys/quota-log.ts`). */
export type LogRow = { seq: number; identifiers: string; numbers: Uint8Array };

/** What a save writes. */
export type QuotaChanges = {
  /** Keys whose pages go. */
  forgotten: readonly string[];
  /** Pages to put in or replace. */
  pages: readonly QuotaRow[];
  log: LogRow;
  /** Rows of the log before this number are in the pages, and go. */
  logFrom: number;
};

/** "PLQ2" in the file's header, and the version of its layout; any other file is set aside. */
const APPLICATION_ID = 0x504c5132;

const TABLES = [
  `pages (identifier TEXT NOT NULL, window_seconds INTEGER NOT NULL, page INTEGER NOT NULL,
     quota INTEGER NOT NULL, head INTEGER NOT NULL, stamps BLOB NOT NULL,
     PRIMARY KEY (identifier, window_seconds, page)) STRICT, WITHOUT ROWID`,
  'log (seq INTEGER PRIMARY KEY, identifiers TEXT NOT NULL, numbers BLOB NOT NULL) STRICT',
  'clock (one INTEGER PRIMARY KEY CHECK (one = 1), last_time REAL NOT NULL) STRICT',
];

/** Requests wait for this lock, and only another program could hold it. */
const BUSY_TIMEOUT_MS = 50;

/** The quota file that belongs to a main database: `profiles.db` has `profiles.db.quotas`. */
export function quotaPath(databasePath: string): string {
  return `${realPath(databasePath)}.quotas`;
}

/** Opens or creates the store, and reads it. Throws where there can be no such file, for example for want of room. */
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
    // NORMAL: survives a crash of the program; a power cut may take the latest seconds, which cost no data.
    sqlite.run('PRAGMA synchronous = NORMAL');
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
  if (id !== 0 || tables > 0) throw new Error(NOT_OURS);
  sqlite.transaction(() => {
    sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    for (const table of TABLES) sqlite.run(`CREATE TABLE ${table}`);
  })();
}

function storeOn(sqlite: Sqlite, setAside: string | null): QuotaStore {
  const readPages = sqlite.prepare<QuotaRow, []>(
    'SELECT identifier, window_seconds AS windowSeconds, page, quota, head, stamps FROM pages',
  );
  const readLog = sqlite.prepare<LogRow, []>('SELECT seq, identifiers, numbers FROM log ORDER BY seq');
  const readClock = sqlite.prepare<{ lastTime: number }, []>('SELECT last_time AS lastTime FROM clock');
  const writePage = sqlite.prepare<undefined, [string, number, number, number, number, Uint8Array]>(
    'INSERT OR REPLACE INTO pages (identifier, window_seconds, page, quota, head, stamps) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const writeLog = sqlite.prepare<undefined, [number, string, Uint8Array]>(
    'INSERT OR REPLACE INTO log (seq, identifiers, numbers) VALUES (?, ?, ?)',
  );
  const forget = sqlite.prepare<undefined, [string]>('DELETE FROM pages WHERE identifier = ?');
  const shorten = sqlite.prepare<undefined, [number]>('DELETE FROM log WHERE seq < ?');
  const writeClock = sqlite.prepare<undefined, [number]>('INSERT OR REPLACE INTO clock (one, last_time) VALUES (1, ?)');
  const save = sqlite.transaction(({ forgotten, pages, log, logFrom }: QuotaChanges, now: number) => {
    for (const identifier of forgotten) forget.run(identifier);
    for (const row of pages) {
      writePage.run(row.identifier, row.windowSeconds, row.page, row.quota, row.head, row.stamps);
    }
    shorten.run(logFrom);
    writeLog.run(log.seq, log.identifiers, log.numbers);
    writeClock.run(now);
  });
  return {
    stored: { rows: readPages.all(), log: readLog.all(), lastTime: readClock.get()?.lastTime ?? 0 },
    setAside,
    save: (changes, now) => save.immediate(changes, now),
    close: () => sqlite.close(),
  };
}
