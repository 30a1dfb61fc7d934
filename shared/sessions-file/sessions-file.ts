import { rmSync, statSync } from 'node:fs';
import { eq, sql } from 'drizzle-orm';
import { type Db, openFile, orClose, type Sqlite } from '../db/connect.ts';
import { databaseFault, isDamage } from '../db/faults.ts';
import { makeFileLike } from '../db/owner.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { realPath } from '../db/real-path.ts';
import { withTables } from '../db/tables.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { type Random, systemRandom } from '../random.ts';
import { settings } from './schema.ts';
import { sessionsPath } from './sessions-path.ts';
import { FILE_KEY, isCurrent, makeTables, NOT_OURS, refuseForeign } from './tables.ts';

/**
 * The open sessions file: an SQLite file beside the main database with all sign-ins. Losing it only signs everybody
 * out, so backups do not contain it. It is a separate file so that writes of pages neither wait for imports nor delay
 * lookups.
 */
export type SessionsFile = {
  readonly sqlite: Sqlite;
  /** The same connection with Drizzle (`schema.ts`). */
  readonly db: Db;
  readonly path: string;
  readonly inode: number;
};

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
    makeFileLike(realPath(databasePath), path);
    // A commit survives a power cut only after `flushSessions`.
    const sqlite = openFile(path, busyTimeoutMs, { check: refuseForeign, isDurable: false });
    return orClose(sqlite, () => {
      if (!isCurrent(sqlite)) sqlite.transaction(() => makeTables(sqlite, random)).immediate();
      return { sqlite, db: withTables({ $client: sqlite }), path, inode: statSync(path).ino };
    });
  });
}

/** Closes the file. */
export function closeSessionsFile({ sqlite }: SessionsFile): void {
  sqlite.close();
}

/** Whether the open file is still at its path: it was not moved, deleted or replaced. */
export function isInPlace({ path, inode }: SessionsFile): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === inode;
}

/** Removes the sessions file of a main database, which signs everybody out. Throws the file system's errors. */
export function removeSessionsFile(databasePath: string): void {
  const path = sessionsPath(databasePath);
  // The log is removed last: SQLite ignores a log without its file, while the file without its log could be an older
  // state in which an ended session is still alive.
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/**
 * Runs a function in one immediate transaction on the sessions file and returns its result. Throws `busy` and `refused`
 * for SQLite's errors, and the function's own errors; nothing is written then.
 */
export function writeSessions<T>({ sqlite, db, path }: SessionsFile, act: (db: Db) => T): T {
  return guardSessions(path, () => sqlite.transaction(() => act(db)).immediate());
}

/** Runs a function that reads the sessions file. Throws `busy` and `refused` for SQLite's errors. */
export function readSessions<T>({ db, path }: SessionsFile, act: (db: Db) => T): T {
  return guardSessions(path, () => act(db));
}

/** Flushes all writes to the disk, so that they survive a power cut. Throws `refused` if the disk fails. */
export function flushSessions({ sqlite, path }: SessionsFile): void {
  // A checkpoint begins with flushing the write-ahead log.
  guardSessions(path, () => sqlite.run('PRAGMA wal_checkpoint(PASSIVE)'));
}

/**
 * Checkpoints the write-ahead log into the file and empties it, so that it contains no deleted row. If another process
 * reads the file for longer than the busy timeout, the log stays. Throws `refused` if the disk fails.
 */
export function emptyLog({ sqlite, path }: SessionsFile): void {
  guardSessions(path, () => sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)'));
}

/**
 * The random key of this file, 32 bytes. It keys the hashes under which mails are counted, so that the file contains no
 * names, and signs the server's own challenges. Throws `refused` if it is missing.
 */
export function fileKey({ db, path }: SessionsFile): Buffer {
  const row = settingByName(db).get({ name: FILE_KEY });
  if (row === undefined) throw unreadable(path, 'its key is missing', null);
  return row.value;
}

const settingByName = keepQuery((db) =>
  db
    .select({ value: settings.value })
    .from(settings)
    .where(eq(settings.name, sql.placeholder('name')))
    .prepare(),
);

function guardSessions<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const isForeign = error instanceof Error && error.message === NOT_OURS;
    const code = isForeign
      ? 'it belongs to another program or a newer version'
      : ((error as { code?: string }).code ?? '');
    if (isForeign || isDamage(error)) throw unreadable(path, code, error);
    throw databaseFault(path, error) ?? error;
  }
}

function unreadable(path: string, code: string, cause: unknown): AppError {
  const sentence = `The sessions file ${path} can't be read (${code}); nobody can sign in. Stop the server and move the file away: the server then creates a new one, and everybody has to sign in again.`;
  return fileRefusal(sentence, cause);
}
