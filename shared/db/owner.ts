import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  fchownSync,
  lstatSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { userName } from '../actor.ts';

const { O_CREAT, O_NOFOLLOW, O_WRONLY, R_OK, W_OK, X_OK } = constants;

/**
 * Checks whether this process can't read and write a database because the file, its folder, or one above belongs to another
 * user. Returns a sentence that names both users and what helps; null if that is not the problem.
 */
export function foreignOwner(path: string): string | null {
  const file = resolve(path);
  const above = foldersAbove(file).filter((folder) => statOf(folder) !== undefined);
  const [folder = '/', ...others] = above;
  return (
    faultOf(file, R_OK | W_OK, folder) ??
    faultOf(folder, W_OK | X_OK, folder) ??
    others.reduce<string | null>((found, one) => found ?? faultOf(one, X_OK, null), null)
  );
}

/** A sentence if another user owns the file or folder and this user may not access it; null otherwise. */
function faultOf(path: string, access: number, databaseFolder: string | null): string | null {
  const stat = statOf(path);
  if (stat === undefined || isAllowed(path, access) || stat.uid === process.geteuid?.()) return null;
  const [owner, user] = [userName(stat.uid), userName()];
  // Nothing should run as root only because a volume was mounted with a folder of root's.
  const way =
    stat.uid !== 0
      ? `run it as ${owner}, for example with "sudo -u ${owner}".`
      : databaseFolder === null
        ? 'put the database elsewhere.'
        : `give it the folder, as root: "chown -R ${process.geteuid?.()} ${databaseFolder}".`;
  return `${path} belongs to the user ${owner}, and this runs as ${user}, who may not access it; ${way}`;
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [] : [above, ...foldersAbove(above)];
}

function isAllowed(path: string, access: number): boolean {
  try {
    accessSync(path, access);
    return true;
  } catch {
    return false;
  }
}

/** Undefined if the file does not exist, or is in a folder that this user may not enter. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/**
 * If this process runs as root, gives a file the owner of `like`, so that the service that owns the database can read
 * it.
 */
export function giveToOwnerOf(like: string, path: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(like);
  chownSync(path, uid, gid);
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
