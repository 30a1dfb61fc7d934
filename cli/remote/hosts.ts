import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { settingsFolder } from '../../shared/config/environment.ts';
import { isToken } from '../../shared/config/network.ts';
import { checkServerUrl } from '../../shared/config/remote.ts';
import { tryFileLock } from '../../shared/db/file-lock.ts';
import { AppError } from '../../shared/errors.ts';
import { looseMode } from '../../shared/file-mode.ts';
import { notice } from '../output.ts';

// hosts.json holds the logins of this user: for each server its token. It is a plain file of mode 0600 in a folder of mode
// 0700, and is always replaced as a whole. Who changes it holds the lock of hosts.json.lock, an empty file that stays: the
// operating system releases the lock of a process that is killed.

/** A stored login. `endsAt` is when the server said that its token ends at the latest (ISO 8601), null if it never does. */
export type Login = { token: string; endsAt: string | null };

/** The logins by the servers' addresses, which are as `checkServerUrl` returns them. */
export type Logins = Map<string, Login>;

const RETRY_MS = 20;

/** How long a process waits for others that change the logins, which takes them milliseconds. */
const MAX_WAIT_MS = 5_000;

/** Where the logins of this user are stored. */
export function loginsPath(): string {
  return join(settingsFolder(homedir()), 'profilectl', 'hosts.json');
}

/**
 * The stored logins, none where there is no file. Warns on stderr of a file that other users can read. Throws `refused`, with
 * what to do, where the file can't be read, is not as {@link changeLogins} writes it, or belongs to another user.
 */
export function readLogins(path = loginsPath()): Logins {
  const logins = readQuietly(path);
  const warning = logins === null ? null : looseMode(path);
  if (warning !== null) notice(`Warning: ${warning}`);
  return logins ?? new Map();
}

/** Null where there is no file. */
function readQuietly(path: string): Logins | null {
  const text = readOwn(path);
  return text === null ? null : parseLogins(path, text);
}

/**
 * Changes the stored logins: `change` gets them and may set and delete some. Two processes do this one after the other. The
 * new file takes the place of the old one when it is on the disk as a whole. Rejects with what {@link readLogins} throws,
 * `try_later` where another process holds the file for `maxWaitMs` milliseconds, and `refused` where nothing can be written;
 * then nothing is changed.
 */
export async function changeLogins(
  change: (logins: Logins) => void,
  path = loginsPath(),
  maxWaitMs = MAX_WAIT_MS,
): Promise<void> {
  const turn = await takeTurn(path, maxWaitMs);
  try {
    const logins = readQuietly(path) ?? new Map();
    change(logins);
    guard(path, 'written', () => replaceLogins(path, logins));
  } finally {
    turn.close();
  }
}

function replaceLogins(path: string, logins: Logins): void {
  const next = `${path}.new`;
  // A process that was killed may have left one.
  rmSync(next, { force: true });
  const file = openSync(next, 'wx', 0o600);
  try {
    const hosts = Object.fromEntries([...logins].toSorted());
    writeFileSync(file, `${JSON.stringify({ hosts }, null, 2)}\n`);
    fsyncSync(file);
    renameSync(next, path);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Takes the lock, which whoever changes the logins holds until it is closed. */
async function takeTurn(path: string, maxWaitMs: number): Promise<{ close: () => void }> {
  const lock = `${path}.lock`;
  guard(path, 'written', () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(lock, 'a', 0o600));
  });
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    const turn = guard(path, 'written', () => tryFileLock(lock, 0));
    if (turn !== null) return turn;
    if (waitedMs >= maxWaitMs) {
      throw new AppError('try_later', `Another profilectl is changing ${path}; try again when it is done.`);
    }
    await Bun.sleep(RETRY_MS);
  }
}

/** A rename lasts through a power cut only when the folder is on the disk too. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The text of a plain file of this user's; null where there is none. */
function readOwn(path: string): string | null {
  return guard(path, 'read', () => {
    if (!isThere(path)) return null;
    // Without waiting for a writer, should it be a pipe.
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(file);
      if (!stat.isFile()) throw new AppError('refused', `${path} is no plain file; remove it, and log in again.`);
      if (stat.uid !== process.geteuid?.()) {
        throw new AppError(
          'refused',
          `${path} belongs to another user, so it is not read; remove it, and log in again.`,
        );
      }
      return readFileSync(file, 'utf8');
    } finally {
      closeSync(file);
    }
  });
}

/** False too where this user may not enter the folder: then no login of this user's is in it. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

function parseLogins(path: string, text: string): Logins {
  try {
    const { hosts } = JSON.parse(text) as { hosts: Record<string, Partial<Login>> };
    return new Map(Object.entries(hosts).map(([url, login]) => [checkServerUrl('host', url), checkLogin(login)]));
  } catch (cause) {
    const sentence = `${path} is not as profilectl writes it; remove it, and log in again.`;
    throw new AppError('refused', sentence, { cause });
  }
}

function checkLogin({ token, endsAt = null }: Partial<Login>): Login {
  if (typeof token !== 'string' || !isToken(token)) throw new TypeError('no token');
  if (endsAt !== null && (typeof endsAt !== 'string' || Number.isNaN(Date.parse(endsAt))))
    throw new TypeError('no time');
  return { token, endsAt };
}

/** Runs what reads or writes the file at `path`, and turns an error of the system into a sentence. */
function guard<T>(path: string, verb: 'read' | 'written', act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const code = codeOf(cause);
    if (cause instanceof AppError || code === null) throw cause;
    throw new AppError('refused', faultText(path, verb, code), { cause });
  }
}

function faultText(path: string, verb: string, code: string): string {
  if (code === 'ELOOP') return `${path} is a symbolic link, which is not followed; put the file itself there.`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return `There is no room left on the disk of ${path}; it is as it was.`;
  return `${path} can't be ${verb} (${code}); check the file, its folder and its disk.`;
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
