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

// hosts.json stores the logins of this user, with the token for each server. It has mode 0600, in a folder of mode 0700, and
// is always replaced as a whole. A process that changes it locks hosts.json.lock, an empty file that is kept; the operating
// system releases the lock of a killed process.

const Hosts = z.object({
  hosts: z.record(
    z.string(),
    z.object({ token: z.string().refine(isToken), endsAt: z.iso.datetime().nullable().default(null) }),
  ),
});

/** A stored login. `endsAt` is the latest time at which its token expires, as reported by the server (ISO 8601), or null. */
export type Login = z.infer<typeof Hosts>['hosts'][string];

/** The logins by server URL, as `checkServerUrl` returns it. */
export type Logins = Map<string, Login>;

/** How long a process waits for another one to change the logins, which takes milliseconds. */
const MAX_WAIT_MS = 5_000;

/** Where the logins of this user are stored. */
export function loginsPath(): string {
  return join(settingsFolder(homedir()), 'profilectl', 'hosts.json');
}

/**
 * Reads the stored logins; none if there is no file. Warns on stderr if other users can read the file. Throws `refused`, with
 * advice, if it can't be read, is malformed, or belongs to another user.
 */
export function readLogins(path = loginsPath()): Logins {
  const logins = readQuietly(path);
  const warning = looseMode(path);
  if (warning !== null) notice(`Warning: ${warning}`);
  return logins;
}

/**
 * Changes the stored logins with `change`, one process at a time. The new file replaces the old one once it is completely on
 * disk. Throws what {@link readLogins} throws, `try_later` if another process holds the lock for `maxWaitMs`, and `refused` if
 * the file can't be written; then nothing has changed.
 */
export async function changeLogins(
  change: (logins: Logins) => void,
  path = loginsPath(),
  maxWaitMs = MAX_WAIT_MS,
): Promise<void> {
  using lock = guard(path, 'written', () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(`${path}.lock`, 'a', 0o600));
    return tryFileLock(`${path}.lock`, maxWaitMs);
  });
  if (lock === null) {
    throw new AppError('try_later', `Another profilectl is changing ${path}; try again when it is done.`);
  }
  const logins = readQuietly(path);
  change(logins);
  guard(path, 'written', () => replaceLogins(path, logins));
}

function replaceLogins(path: string, logins: Logins): void {
  const next = `${path}.new`;
  const text = `${JSON.stringify({ hosts: Object.fromEntries([...logins].toSorted()) }, null, 2)}\n`;
  // A killed process may have left this file.
  rmSync(next, { force: true });
  try {
    writeFileSync(next, text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
  // A rename survives a power cut only once the folder is synced too.
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

function readQuietly(path: string): Logins {
  // Also false if this user may not enter the folder, which then has no login of theirs.
  if (!existsSync(path)) return new Map();
  const text = guard(path, 'read', () => {
    const stat = lstatSync(path);
    const refuse = (what: string) => new AppError('refused', `${path} ${what}`);
    if (stat.isSymbolicLink()) throw refuse('is a symbolic link, which is not followed; replace it with the file.');
    if (!stat.isFile()) throw refuse('is not a regular file; remove it, and log in again.');
    if (stat.uid !== process.geteuid?.()) {
      throw refuse('belongs to another user, so it is not read; remove it, and log in again.');
    }
    return readFileSync(path, 'utf8');
  });
  try {
    const { hosts } = Hosts.parse(JSON.parse(text));
    return new Map(Object.entries(hosts).map(([url, login]) => [checkServerUrl('host', url), login]));
  } catch {
    // Without the cause, which may quote the file.
    throw new AppError('refused', `${path} is not a valid login file; remove it, and log in again.`);
  }
}

/** Runs `act`, which reads or writes the file, and turns a system error into a sentence. */
function guard<T>(path: string, verb: 'read' | 'written', act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : null;
    if (cause instanceof AppError || typeof code !== 'string') throw cause;
    const sentence =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? `The disk of ${path} is full; the file is unchanged.`
        : `${path} can't be ${verb} (${code}); check the file, its folder and its disk.`;
    throw new AppError('refused', sentence, { cause });
  }
}
