import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  lchownSync,
  lstatSync,
  openSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { userName } from '../actor.ts';

const { O_CREAT, O_NOFOLLOW, O_WRONLY, R_OK, W_OK, X_OK } = constants;

/** The target of a symbolic link, otherwise the path itself: the files beside the database are beside the target. */
export function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** The paths of a database's own files, whether they exist or not: what SQLite, the server and a restore keep beside it, too. */
export function databaseFiles(path: string): string[] {
  return ['', '-wal', '-shm', '-journal', '.lock', '.unfinished'].map((suffix) => realPath(path) + suffix);
}

/** If this process runs as root, gives a file the owner of `like`, so that the service that owns the database can read it. */
export function giveToOwnerOf(like: string, path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(like);
  lchownSync(path, uid, gid);
}

/**
 * Creates an empty file of mode 0600, as root with the owner of `like`, so that the service can read what an operator creates.
 * Does nothing if there is a file or a link.
 */
export function makeFileLike(like: string, path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const file = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600);
  const { uid, gid } = statSync(like);
  if (process.getuid?.() === 0) fchownSync(file, uid, gid);
  closeSync(file);
}

/**
 * Checks whether this process can't read and write a database because the file, its folder, or one above belongs to another
 * user. Returns a sentence that names both users and what helps; null if that is not the problem.
 */
export function foreignOwner(path: string): string | null {
  const file = resolve(path);
  let isFolderFound = false;
  let access = R_OK | W_OK;
  for (let at = file; ; at = dirname(at)) {
    if (at !== file) isFolderFound ||= existsSync(at);
    const uid = ownerWithout(at, access);
    // Nothing should run as root only because a volume was mounted with a folder of root's.
    if (uid !== null) {
      const [owner, user] = [userName(uid), userName()];
      const id = process.geteuid?.();
      const folder = dirname(file);
      // A folder that exists may be /etc, so no command names it.
      const give =
        at === file
          ? `give it this file, as root: "chown ${id} ${file}".`
          : at === folder
            ? `the database needs a folder of its own, which belongs to the user ${user} (${id}).`
            : `make a folder for the database, as root: "install -d -m 0700 -o ${id} ${folder}".`;
      const help = uid === 0 ? give : `run it as ${owner}, for example with "sudo -u ${owner}".`;
      return `${at} belongs to the user ${owner}, and this runs as ${user}, who may not access it; ${help}`;
    }
    if (at === dirname(at)) return null;
    // New files are made in the folder of the database, or in the first above it that exists.
    access = isFolderFound ? X_OK : W_OK | X_OK;
  }
}

/** The owner of a file that is another user's and that this user may not access; null for any other file. */
function ownerWithout(path: string, access: number): number | null {
  let uid: number | undefined;
  try {
    uid = statSync(path).uid;
    accessSync(path, access);
    return null;
  } catch {
    return uid === undefined || uid === process.geteuid?.() ? null : uid;
  }
}
