import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import { AppError } from '../../errors.ts';

/** Where lines come from: a file's path, or chunks of bytes such as stdin gives. */
export type ImportSource = string | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** How far an import is; `totalBytes` is null where nobody knows. */
export type Progress = { lines: number; bytes: number; totalBytes: number | null };

/** Hears of progress after every batch. */
export type OnProgress = (progress: Progress) => void;

/** The source's bytes, in chunks of a bounded size where it is a file. */
export function chunksOf(source: ImportSource): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return typeof source === 'string' ? createReadStream(source, { highWaterMark: 262_144 }) : source;
}

/** A fault of the file or the pipe as a sentence: `refused`. Null where the fault lies elsewhere. */
export function sourceFault(source: ImportSource, error: unknown): AppError | null {
  if (!(error instanceof Error) || !('syscall' in error)) return null;
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown fault';
  const what = typeof source === 'string' ? source : 'The input';
  if (code === 'ENOENT' || code === 'ENOTDIR') return new AppError('refused', `There is no file ${what}.`);
  if (code === 'EISDIR') return isFolder(what);
  if (code === 'ENOSPC') return new AppError('refused', 'There is no room left on the disk beside the database.');
  return new AppError('refused', `${what} can't be read (${code}).`, { cause: error });
}

/** Throws `refused` where there is no such file, it is a folder, or it may not be read. */
export function checkSource(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw sourceFault(path, error) ?? error;
  }
  if (statSync(path).isDirectory()) throw isFolder(path);
}

function isFolder(path: string): AppError {
  return new AppError('refused', `${path} is a folder, not a file of JSON Lines.`);
}
