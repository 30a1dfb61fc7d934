import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { openBare, openFile, type Sqlite } from '../db/connect.ts';
import { realPath, refuseSecondName } from '../db/disk.ts';
import { databaseFault, isDamage } from '../db/faults.ts';
import { giveToOwnerOf } from '../db/owner.ts';
import { damages } from '../db/snapshot.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { type Random, systemRandom } from '../random.ts';
import { TABLES } from './tables.ts';

/**
 * The open sessions file: an SQLite file beside the main database that says who is signed in. Losing it signs everybody out
 * and loses nothing else, so it is in no backup. A file of its own, so that no write of a page waits for an import or makes
 * a lookup wait.
 */
export type SessionsFile = {
  readonly sqlite: Sqlite;
  /** The path of the file itself, where a link leads to it. */
  readonly path: string;
  /** The number that the file system has given the file. */
  readonly inode: number;
};

/** The application id in the file's header, "PLS2". A file with another id is not touched, but for {@link FORMER_IDS}. */
const APPLICATION_ID = 0x504c5332;

/** The ids of files that earlier versions made, whose tables are replaced: then everybody signs in again. */
const FORMER_IDS: readonly number[] = [0x504c5331];

/** How long a command waits for the lock of another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;

/** The name of the setting that is {@link fileKey}. */
const FILE_KEY = 'key';

/** The path of the sessions file of a main database: `profiles.db.sessions` for `profiles.db`. */
export function sessionsPath(databasePath: string): string {
  return `${realPath(databasePath)}.sessions`;
}

/**
 * Opens the sessions file of a main database, mode 0600, and makes it where it is missing. Throws `refused`, with a sentence
 * that says what to do, where it is damaged, another program's or can't be written, and `busy`.
 */
export function openSessionsFile(
  databasePath: string,
  random: Random = systemRandom,
  busyTimeoutMs: number = BUSY_TIMEOUT_MS,
): SessionsFile {
  const path = sessionsPath(databasePath);
  return guardSessions(path, () => {
    refuseSecondName(path);
    makeFile(path, realPath(databasePath));
    const sqlite = openFile(path, busyTimeoutMs, refuseForeign);
    try {
      // A commit survives a crash of the program, and a power cut only after `flushSessions`.
      sqlite.run('PRAGMA synchronous = NORMAL');
      // Client addresses that are deleted leave no copy in free pages.
      sqlite.run('PRAGMA secure_delete = ON');
      if (!isCurrent(sqlite)) sqlite.transaction(() => makeTables(sqlite, random)).immediate();
      return { sqlite, path, inode: statSync(path).ino };
    } catch (error) {
      sqlite.close();
      throw error;
    }
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

/** Removes the sessions file of a main database, which signs everybody out. Throws what the file system throws. */
export function removeSessionsFile(databasePath: string): void {
  const path = sessionsPath(databasePath);
  // The log goes last: SQLite ignores one without its file, while the file without its log could be an older state of
  // itself, in which a session that was ended is still alive.
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/**
 * What is wrong with the sessions file of a main database, as clauses; empty where nothing is, or where there is no such
 * file. Changes nothing.
 */
export function sessionsFaults(databasePath: string): string[] {
  const path = sessionsPath(databasePath);
  if (!existsSync(path)) return [];
  try {
    const sqlite = openBare(path, 'read');
    try {
      refuseForeign(sqlite);
      return damages(sqlite).map((damage) => `the sessions file is damaged: ${damage}`);
    } finally {
      sqlite.close();
    }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return [`the sessions file can't be read (${code ?? message})`];
  }
}

/**
 * Runs a function in one immediate transaction on the sessions file and returns its result. Throws `busy`, `refused` for
 * SQLite's faults, and the function's own errors; nothing is written then.
 */
export function writeSessions<T>({ sqlite, path }: SessionsFile, act: (sqlite: Sqlite) => T): T {
  return guardSessions(path, () => sqlite.transaction(() => act(sqlite)).immediate());
}

/** Runs a function that reads the sessions file. Throws `busy` and `refused` for SQLite's faults. */
export function readSessions<T>({ sqlite, path }: SessionsFile, act: (sqlite: Sqlite) => T): T {
  return guardSessions(path, () => act(sqlite));
}

/** Flushes what was written to the disk, so that it survives a power cut too. Throws `refused` where the disk fails. */
export function flushSessions({ sqlite, path }: SessionsFile): void {
  // A checkpoint begins with flushing the write-ahead log.
  guardSessions(path, () => sqlite.run('PRAGMA wal_checkpoint(PASSIVE)'));
}

/**
 * Moves what the write-ahead log holds into the file and leaves the log empty, so that no deleted row is left in it; while
 * another process reads the file, after the wait for its lock, the log stays. Throws `refused` where the disk fails.
 */
export function emptyLog({ sqlite, path }: SessionsFile): void {
  guardSessions(path, () => sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)'));
}

/**
 * The random key of this file, 32 bytes: mails are counted under hashes that it keys, so that the file names nobody, and by it
 * the server knows its own challenges again. Throws `refused` where it is missing.
 */
export function fileKey({ sqlite, path }: SessionsFile): Uint8Array {
  const row = sqlite.query<{ value: Uint8Array }, [string]>('SELECT value FROM settings WHERE name = ?').get(FILE_KEY);
  if (row === null) throw unreadable(path, 'it has no key', null);
  return row.value;
}

/** Makes an empty file where there is none. Root gives it to the database's owner, so that the service can use it. */
function makeFile(path: string, databasePath: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', 0o600));
  giveToOwnerOf(databasePath, path);
}

/** The message of the error for a file that is not ours; it never leaves this file. */
const NOT_OURS = 'not a sessions file of Profile Lookup';

/** Runs before anything is written, so that another program's file stays as it is. */
function refuseForeign(sqlite: Sqlite): void {
  const id = applicationIdOf(sqlite);
  const { tables } = sqlite.query('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (id === 0 ? tables > 0 : id !== APPLICATION_ID && !FORMER_IDS.includes(id)) throw new Error(NOT_OURS);
}

function applicationIdOf(sqlite: Sqlite): number {
  return (sqlite.query('SELECT application_id AS id FROM pragma_application_id').get() as { id: number }).id;
}

/** Whether the file has every table and index, so that opening it writes nothing. */
function isCurrent(sqlite: Sqlite): boolean {
  const { parts } = sqlite
    .query("SELECT count(*) AS parts FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    .get() as { parts: number };
  return parts >= TABLES.length && applicationIdOf(sqlite) === APPLICATION_ID;
}

function makeTables(sqlite: Sqlite, random: Random): void {
  if (FORMER_IDS.includes(applicationIdOf(sqlite))) dropTables(sqlite);
  sqlite.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  for (const statement of TABLES) sqlite.run(statement);
  sqlite.run('INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)', [FILE_KEY, random(32)]);
}

function dropTables(sqlite: Sqlite): void {
  const tables = sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  for (const { name } of tables) sqlite.run(`DROP TABLE "${name}"`);
}

/** Turns faults of SQLite and the file system into AppErrors about the sessions file. */
function guardSessions<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const isForeign = error instanceof Error && error.message === NOT_OURS;
    const code = isForeign ? "another program's file" : ((error as { code?: string }).code ?? '');
    if (isForeign || isDamage(error)) throw unreadable(path, code, error);
    throw databaseFault(path, error) ?? error;
  }
}

function unreadable(path: string, code: string, cause: unknown): AppError {
  const sentence = `The sessions file ${path} can't be read (${code}); nobody can sign in. Move it away while the server is stopped: a new one is made, and everybody signs in anew.`;
  return fileRefusal(sentence, cause);
}
