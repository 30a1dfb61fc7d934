import { accessSync, closeSync, constants, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { type AppError, fileRefusal } from '../../errors.ts';
import { formatFault } from './source-format.ts';

/** The source of lines: a file's path, or chunks of bytes, as from stdin. */
export type ImportSource = string | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The progress of an import; `totalBytes` is null if unknown, `deferred` lines are retried at the end. */
export type Progress = { lines: number; bytes: number; totalBytes: number | null; deferred: number };

/** Called after every batch. */
export type OnProgress = (progress: Progress) => void;

/** The source's bytes, in chunks of limited size if it is a file. */
export function chunksOf(source: ImportSource): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return typeof source === 'string' ? createReadStream(source, { highWaterMark: 262_144 }) : source;
}

/** The source's size in bytes; null if unknown. */
export function sizeOf(source: ImportSource): number | null {
  return (typeof source === 'string' && statSync(source, { throwIfNoEntry: false })?.size) || null;
}

/** The source's name in sentences. */
export function nameOf(source: ImportSource): string {
  return typeof source === 'string' ? source : 'The input';
}

/** The number of bytes needed to recognise the kind of a file; fewer are enough if they include a line end. */
const HEAD_BYTES = 4_096;

const LF = 0x0a;

/**
 * Opens the source that a person has named: a path, or "-" for `stdin`. Throws `refused` if it can't be read, is empty,
 * or is in a format often mistaken for JSON Lines; the sentence then says how to convert it. Unless it is a regular
 * file, waits for its beginning.
 */
export async function openSource(file: string, stdin: AsyncIterable<Uint8Array>): Promise<ImportSource> {
  if (file !== '-') checkSource(file);
  if (file !== '-' && statSync(file).isFile()) {
    checkHead(headOf(file), file);
    return file;
  }
  try {
    return await checkBeginning(file === '-' ? stdin : createReadStream(file), (head) => checkHead(head, null));
  } catch (error) {
    throw sourceFault(file === '-' ? stdin : file, error) ?? error;
  }
}

/**
 * Waits for the first 4 096 bytes, the first line feed or the end, however the bytes are divided into chunks, and
 * passes up to 4 096 bytes to `check`. Returns all bytes from the beginning. Throws the errors of `check` and of the
 * chunks.
 */
export async function checkBeginning(
  chunks: AsyncIterable<Uint8Array>,
  check: (head: Uint8Array) => void,
): Promise<AsyncIterable<Uint8Array>> {
  const arriving = chunks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let bytes = 0;
  let next = await arriving.next();
  for (; !next.done; next = await arriving.next()) {
    held.push(next.value);
    bytes += next.value.length;
    if (bytes >= HEAD_BYTES || next.value.includes(LF)) break;
  }
  check(Buffer.concat(held).subarray(0, HEAD_BYTES));
  return (async function* () {
    yield* held;
    if (next.done) return;
    for (let chunk = await arriving.next(); !chunk.done; chunk = await arriving.next()) yield chunk.value;
  })();
}

function headOf(file: string): Uint8Array {
  const fd = openSync(file, 'r');
  try {
    const head = new Uint8Array(HEAD_BYTES);
    return head.subarray(0, readSync(fd, head));
  } finally {
    closeSync(fd);
  }
}

function checkHead(head: Uint8Array, file: string | null): void {
  if (head.length === 0) throw fileRefusal(`${file ?? 'The input'} is empty; nothing was changed.`);
  const fault = formatFault(head, file);
  if (fault !== null) throw fileRefusal(fault);
}

/** The `refused` error for an error of the file or the pipe; null for any other error. */
export function sourceFault(source: ImportSource, error: unknown): AppError | null {
  if (!(error instanceof Error) || !('syscall' in error)) return null;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown fault';
  const what = nameOf(source);
  if (code === 'ENOENT' || code === 'ENOTDIR') return fileRefusal(`There is no file ${what}.`);
  if (code === 'EISDIR') return isFolder(what);
  if (code === 'ENOSPC') return fileRefusal('No space is left on the disk of the database.');
  return fileRefusal(`${what} can't be read (${code}).`, error);
}

/** Throws `refused` if the file does not exist, is a folder, or may not be read. */
export function checkSource(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw sourceFault(path, error) ?? error;
  }
  if (statSync(path).isDirectory()) throw isFolder(path);
}

function isFolder(path: string): AppError {
  return fileRefusal(`${path} is a folder, not a file of JSON Lines.`);
}
