import {
  closeSync,
  existsSync,
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
import { z } from 'zod';
import { settingsFolder } from '../../shared/config/environment.ts';
import { isToken } from '../../shared/config/network.ts';
import { checkServerUrl } from '../../shared/config/remote.ts';
import { tryFileLock } from '../../shared/db-files/file-lock.ts';
import { AppError } from '../../shared/errors.ts';
import { looseMode } from '../../shared/file-mode.ts';
import { notice } from '../terminal/output.ts';

// hosts.json holds the logins of this user: for each server its token. It is a plain file of mode 0600 in a folder of mode
// 0700, and is always replaced as a whole. Who changes it holds the lock of hosts.json.lock, an empty file that stays: the
// operating system releases the lock of a process that is killed.

const Hosts = z.object({
  hosts: z.record(
    z.string(),
    z.object({ token: z.string().refine(isToken), endsAt: z.iso.datetime().nullable().default(null) }),
  ),
});

/** A stored login. `endsAt` is when the server said that its token ends at the latest (ISO 8601), null if it never does. */
export type Login = z.infer<typeof Hosts>['hosts'][string];

/** The logins by the servers' addresses, which are as `checkServerUrl` returns them. */
export type Logins = Map<string, Login>;

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
  const warning = looseMode(path);
  if (warning !== null) notice(`Warning: ${warning}`);
  return logins;
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
  const lock = guard(path, 'written', () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(`${path}.lock`, 'a', 0o600));
    return tryFileLock(`${path}.lock`, maxWaitMs);
  });
  if (lock === null) {
    throw new AppError('try_later', `Another profilectl is changing ${path}; try again when it is done.`);
  }
  try {
    const logins = readQuietly(path);
    change(logins);
    guard(path, 'written', () => replaceLogins(path, logins));
  } finally {
    lock.close();
  }
}

function replaceLogins(path: string, logins: Logins): void {
  const next = `${path}.new`;
  const text = `${JSON.stringify({ hosts: Object.fromEntries([...logins].toSorted()) }, null, 2)}\n`;
  // A process that was killed may have left one.
  rmSync(next, { force: true });
  try {
    writeFileSync(next, text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
  // A rename lasts through a power cut only when the folder is on the disk too.
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

function readQuietly(path: string): Logins {
  // False too where this user may not enter the folder: then no login of this user's is in it.
  if (!existsSync(path)) return new Map();
  const text = guard(path, 'read', () => {
    const stat = lstatSync(path);
    const refuse = (what: string) => new AppError('refused', `${path} ${what}`);
    if (stat.isSymbolicLink()) throw refuse('is a symbolic link, which is not followed; put the file itself there.');
    if (!stat.isFile()) throw refuse('is no plain file; remove it, and log in again.');
    if (stat.uid !== process.geteuid?.()) {
      throw refuse('belongs to another user, so it is not read; remove it, and log in again.');
    }
    return readFileSync(path, 'utf8');
  });
  try {
    const { hosts } = Hosts.parse(JSON.parse(text));
    return new Map(Object.entries(hosts).map(([url, login]) => [checkServerUrl('host', url), login]));
  } catch {
    // Without the cause, which may name what is in the file.
    throw new AppError('refused', `${path} is not as profilectl writes it; remove it, and log in again.`);
  }
}

/** Runs what reads or writes the file at `path`, and turns an error of the system into a sentence. */
function guard<T>(path: string, verb: 'read' | 'written', act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : null;
    if (cause instanceof AppError || typeof code !== 'string') throw cause;
    const sentence =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? `There is no room left on the disk of ${path}; it is as it was.`
        : `${path} can't be ${verb} (${code}); check the file, its folder and its disk.`;
    throw new AppError('refused', sentence, { cause });
  }
}
