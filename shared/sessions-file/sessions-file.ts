import { existsSync, rmSync, statSync } from 'node:fs';
import { eq, sql } from 'drizzle-orm';
import { type Db, openBare, openFile, orClose, type Sqlite } from '../db/connect.ts';
import { databaseFault, isDamage } from '../db/faults.ts';
import { makeFileLike } from '../db/owner.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { realPath } from '../db/real-path.ts';
import { withTables } from '../db/tables.ts';
import { refuseSecondName } from '../db-files/disk.ts';
import { checkpoint } from '../db-files/empty-log.ts';
import { damages } from '../db-files/snapshot.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { type Random, systemRandom } from '../random.ts';
import { settings } from './schema.ts';
import { sessionsPath } from './sessions-path.ts';
import { FILE_KEY, isCurrent, makeTables, NOT_OURS, refuseForeign } from './tables.ts';

/**
 * The open sessions file: an SQLite file beside the main database with all sign-ins. Losing it signs everybody out and
 * loses nothing else, so backups do not contain it. It is a separate file so that no write of a page waits for an
 * import or makes a lookup wait.
 */
export type SessionsFile = {
  readonly sqlite: Sqlite;
  /** Its tables through Drizzle (`schema.ts`). */
  readonly tables: Db;
  /** The path of the file itself, with links resolved. */
  readonly path: string;
  /** The file's inode number. */
  readonly inode: number;
};

/** How long a command waits for the lock of another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * Opens the sessions file of a main database, mode 0600, and creates it if it is missing. Throws `refused`, with a
 * sentence that says what to do, if it is damaged, another program's or can't be written.
 */
export function openSessionsFile(
  databasePath: string,
  random: Random = systemRandom,
  busyTimeoutMs: number = BUSY_TIMEOUT_MS,
): SessionsFile {
  const path = sessionsPath(databasePath);
  return guardSessions(path, () => {
    refuseSecondName(path);
    makeFileLike(realPath(databasePath), path);
    // A commit survives a power cut only after `flushSessions`.
    const sqlite = openFile(path, busyTimeoutMs, { check: refuseForeign, isDurable: false });
    return orClose(sqlite, () => {
      if (!isCurrent(sqlite)) sqlite.transaction(() => makeTables(sqlite, random)).immediate();
      return { sqlite, tables: withTables({ $client: sqlite }), path, inode: statSync(path).ino };
    });
  });
}

/** Closes the file; the connection can't be used any more. */
export function closeSessionsFile({ sqlite }: SessionsFile): void {
  sqlite.close();
}

/** Whether the open file is still at its path: nobody has moved or deleted it, or put another in its place. */
export function isInPlace({ path, inode }: SessionsFile): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === inode;
}

/** Removes the sessions file of a main database, which signs everybody out. Throws the file system's errors. */
export function removeSessionsFile(databasePath: string): void {
  const path = sessionsPath(databasePath);
  // The log goes last: SQLite ignores one without its file, while the file without its log could be an older state of
  // itself, in which a session that was ended is still alive.
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/**
 * The faults of the sessions file of a main database, as clauses; empty if there are none, or no such file. Changes
 * nothing.
 */
export function sessionsFaults(databasePath: string): string[] {
  const path = sessionsPath(databasePath);
  if (!existsSync(path)) return [];
  try {
    using sqlite = openBare(path, 'read');
    refuseForeign(sqlite);
    return damages(sqlite).map((damage) => `the sessions file is damaged: ${damage}`);
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return [`the sessions file can't be read (${code ?? message})`];
  }
}

/**
 * Runs a function in one immediate transaction on the sessions file and returns its result. Throws `busy`, `refused` for
 * SQLite's faults, and the function's own errors; nothing is written then.
 */
export function writeSessions<T>({ sqlite, tables, path }: SessionsFile, act: (tables: Db) => T): T {
  return guardSessions(path, () => sqlite.transaction(() => act(tables)).immediate());
}

/** Runs a function that reads the sessions file. Throws `busy` and `refused` for SQLite's faults. */
export function readSessions<T>({ tables, path }: SessionsFile, act: (tables: Db) => T): T {
  return guardSessions(path, () => act(tables));
}

/** Flushes all writes to the disk, so that they also survive a power cut. Throws `refused` if the disk fails. */
export function flushSessions({ sqlite, path }: SessionsFile): void {
  // A checkpoint begins with flushing the write-ahead log.
  guardSessions(path, () => checkpoint(sqlite, 'PASSIVE'));
}

/**
 * Moves the content of the write-ahead log into the file and empties the log, so that it contains no deleted row; if
 * another process reads the file for longer than the wait for its lock, the log stays. Throws `refused` if the disk
 * fails.
 */
export function emptyLog({ sqlite, path }: SessionsFile): void {
  guardSessions(path, () => checkpoint(sqlite, 'TRUNCATE'));
}

/**
 * The random key of this file, 32 bytes. It keys the hashes under which mails are counted, so that the file names
 * nobody, and the server recognises its own challenges by it. Throws `refused` if it is missing.
 */
export function fileKey({ tables, path }: SessionsFile): Buffer {
  const row = settingByName(tables).get({ name: FILE_KEY });
  if (row === undefined) throw unreadable(path, 'it has no key', null);
  return row.value;
}

const settingByName = keepQuery((tables) =>
  tables
    .select({ value: settings.value })
    .from(settings)
    .where(eq(settings.name, sql.placeholder('name')))
    .prepare(),
);

/** Turns faults of SQLite and the file system into AppErrors about the sessions file. */
function guardSessions<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const isForeign = error instanceof Error && error.message === NOT_OURS;
    const code = isForeign ? "another program's file, or a newer version's" : ((error as { code?: string }).code ?? '');
    if (isForeign || isDamage(error)) throw unreadable(path, code, error);
    throw databaseFault(path, error) ?? error;
  }
}

function unreadable(path: string, code: string, cause: unknown): AppError {
  const sentence = `The sessions file ${path} can't be read (${code}); nobody can sign in. Move it away while the server is stopped: a new one is made, and everybody signs in anew.`;
  return fileRefusal(sentence, cause);
}
