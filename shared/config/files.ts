import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { realPath } from '../db/file.ts';
import { AppError } from '../errors.ts';
import { shellWord } from '../text.ts';

/** A file that a person has named by the flag or variable `name`; `code` is the code of its errors. */
export type SmallFile = { name: string; path: string; maxKib: number; code: 'bad_config' | 'usage' };

/** {@link readSmallBytes} as text. Also throws an AppError if the file is not UTF-8. */
export function readSmallText(file: SmallFile): string {
  return decodeUtf8(file, readSmallBytes(file));
}

/**
 * Reads a file that a person has named. Throws an AppError, without contents of the file, if it can't be read or is larger than
 * `maxKib` KiB.
 */
export function readSmallBytes(file: SmallFile): Uint8Array {
  const bytes = new Uint8Array(file.maxKib * 1_024 + 1);
  let length = 0;
  try {
    const fd = openSync(file.path, 'r');
    try {
      for (let count = -1; count !== 0 && length < bytes.length; length += count) {
        count = readSync(fd, bytes.subarray(length));
      }
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw fault(file, `names a file that can't be read: ${file.path}`, cause);
  }
  if (length === bytes.length) throw tooLarge(file);
  return bytes.subarray(0, length);
}

/** Decodes the bytes of such a file, without a byte order mark. Throws an AppError if they are not UTF-8. */
export function decodeUtf8(file: Omit<SmallFile, 'maxKib'>, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw fault(file, `must name a UTF-8 text file, and ${file.path} is not one`, cause);
  }
}

/** The error for a file that is larger than `maxKib` KiB. */
export function tooLarge(file: SmallFile): AppError {
  return fault(file, `names a file larger than ${file.maxKib} KiB: ${file.path}`);
}

function fault({ name, code }: Pick<SmallFile, 'name' | 'code'>, what: string, cause?: unknown): AppError {
  return new AppError(code, `${name} ${what}.`, { cause });
}

/** Whether anyone may read or write. A group may be the service's own, which root lends its settings. */
const OTHERS = 0o006;

/** The warning if every user may read or write a file; null if not, if it is no file, or if it can't be inspected. */
export function looseMode(path: string): string | null {
  return looseText(path, 'isFile', `run "chmod o-rwx ${shellWord(path)}"`);
}

function looseText(path: string, isKind: 'isFile' | 'isDirectory', help: string): string | null {
  try {
    const found = statSync(path);
    if ((found.mode & OTHERS) === 0 || !found[isKind]()) return null;
    return `${path} is open to all users of this machine (mode ${(found.mode & 0o777).toString(8)}); ${help}.`;
  } catch {
    return null;
  }
}

/**
 * A sentence for the database and for its folder, if other users can read or write them. SQLite gives the write-ahead log the
 * mode of the database and removes it, so it is named only if it alone is open.
 */
export function looseModes(databasePath: string): string[] {
  const file = realPath(databasePath);
  // No command is named: the folder may be /tmp, which all users need.
  const folder = looseText(dirname(file), 'isDirectory', 'keep the database in a folder of its own, of mode 700');
  return [folder, looseMode(file) ?? looseMode(`${file}-wal`)].filter((text) => text !== null);
}
