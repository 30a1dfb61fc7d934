import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { realPath } from '../db/real-path.ts';

// Recognises the files of a database, so that commands don't write their output to one of them: that would destroy the
// database, and a process with the database open would write into the output.

/** The suffixes of files that programs keep beside a database while they use it. */
const SIDE_NAME =
  /^(?:-wal|-shm|-journal|\.(?:quotas|sessions|lock|import-lock|feed-lock)(?:-wal|-shm|-journal)?|\.reserve|\.last-backup(?:\.unfinished)?)$/;

/** The suffixes of copies kept beside a database, and of copies left by killed programs. */
const COPY_NAME = /^\.(?:before-(?:restore|schema)-|quotas\.unreadable-)|\.unfinished$/;

const SQLITE_MARK = 'SQLite format 3\0';

/**
 * Whether a path is or would become a file of a database: because its name belongs beside some database, even if it
 * does not exist; or because it is, by any name, one of the files of `databasePath`, including its copies. Follows
 * links. `databasePath` is null if no database is known. Throws the file system's errors.
 */
export function isDatabaseFile(path: string, databasePath: string | null): boolean {
  const target = targetOf(path);
  const [folder, name] = [dirname(target), basename(target)];
  const main = databasePath === null ? null : realPath(resolve(databasePath));
  if (target === main) return true;
  for (let at = 1; at < name.length; at++) {
    if (!SIDE_NAME.test(name.slice(at))) continue;
    const database = join(folder, name.slice(0, at));
    if (database === main || isSqlite(database)) return true;
  }
  return main !== null && isSameAsOne(target, filesOf(main));
}

function isSqlite(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  try {
    const fd = openSync(path, 'r');
    try {
      const head = Buffer.alloc(SQLITE_MARK.length);
      return readSync(fd, head) === head.length && head.toString('latin1') === SQLITE_MARK;
    } finally {
      closeSync(fd);
    }
  } catch {
    // The contents can't be read, so the name decides.
    return true;
  }
}

/** The maximum number of symbolic links to follow, since they may form a loop. */
const MAX_LINKS = 40;

function targetOf(path: string, links = 0): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  try {
    if (found === undefined) return join(realpathSync(dirname(resolve(path))), basename(path));
    return realpathSync(path);
  } catch {
    if (!found?.isSymbolicLink() || links === MAX_LINKS) return resolve(path);
    return targetOf(resolve(dirname(path), readlinkSync(path)), links + 1);
  }
}

function filesOf(database: string): string[] {
  const [folder, name] = [dirname(database), basename(database)];
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  const beside = readdirSync(folder).filter((one) => {
    const rest = one.startsWith(name) ? one.slice(name.length) : '';
    return SIDE_NAME.test(rest) || COPY_NAME.test(rest);
  });
  return [database, ...beside.map((one) => join(folder, one))];
}

function isSameAsOne(path: string, others: readonly string[]): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) return false;
  return others.some((other) => {
    const one = statSync(other, { throwIfNoEntry: false });
    return one?.ino === found.ino && one.dev === found.dev;
  });
}
