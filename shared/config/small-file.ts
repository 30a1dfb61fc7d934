import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { AppError } from '../errors.ts';

const KIB = 1_024;

/** How long to wait for a pipe's first writer, and for a writer that writes nothing. */
const PATIENCE_MS = { open: 5_000, write: 60_000 };

const PAUSE_MS = 20;

/** A file that a person has named by the flag or variable `name`; `code` is the code of its errors. */
export type SmallFile = { name: string; path: string; maxKib: number; code: 'bad_config' | 'usage' };

/** {@link readSmallBytes} as text. Also throws an AppError if the file is not UTF-8. */
export function readSmallText(file: SmallFile): string {
  return decodeUtf8(file, readSmallBytes(file));
}

/**
 * Reads a file that a person has named, which may be a pipe, as shells create for `<(command)`. Throws an AppError, without
 * contents of the file, if it can't be read, is larger than `maxKib` KiB, or is a pipe on which nothing arrives for 5 s (no
 * writer) or 60 s.
 */
export function readSmallBytes(file: SmallFile): Uint8Array {
  try {
    return readBounded(file);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw fault(file, `names a file that can't be read: ${file.path}`, cause);
  }
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

function readBounded(file: SmallFile): Uint8Array {
  // Without O_NONBLOCK, this would block until another process opens the pipe to write.
  const fd = openSync(file.path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const isPipe = fstatSync(fd).isFIFO();
    const bytes = new Uint8Array(file.maxKib * KIB + 1);
    let length = 0;
    for (let waitedMs = 0; length < bytes.length; ) {
      const count = readNow(fd, bytes.subarray(length));
      if (count === 0 && (length > 0 || !isPipe)) break;
      if (count !== null && count > 0) {
        length += count;
        waitedMs = 0;
        continue;
      }
      if (waitedMs >= (count === null ? PATIENCE_MS.write : PATIENCE_MS.open)) {
        throw fault(file, `names a pipe on which nothing arrives: ${file.path}`);
      }
      Bun.sleepSync(PAUSE_MS);
      waitedMs += PAUSE_MS;
    }
    if (length === bytes.length) throw tooLarge(file);
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/** Returns the number of bytes read: 0 at the end and for a pipe without a writer, null if there are none yet. */
function readNow(fd: number, into: Uint8Array): number | null {
  try {
    return readSync(fd, into);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return null;
    throw error;
  }
}
