import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { AppError, fileRefusal } from '../../errors.ts';

/** The file for the refused lines of an import, unchanged. */
export type Rejects = {
  writeLine: (line: string | Uint8Array) => void;
  /** Writes bytes of a line that is too long to be held in memory, including its line feed. */
  writePiece: (piece: Uint8Array) => void;
  close: () => void;
};

/**
 * Decides whether to overwrite a file with content; may ask a person, and throw. `mayBeOurs` is false if it can't have
 * been written by an import.
 */
export type MayOverwrite = (held: { bytes: number; mayBeOurs: boolean }) => Promise<boolean>;

/**
 * Creates the file (0600), or empties it if `mayOverwrite` allows that: it contains private data, and yesterday's lines
 * would be mistaken for today's. Throws `usage` if it is a file of a database, or one of `inputs`, the paths or
 * descriptors that the import reads; `cancelled` if it must not be overwritten; and `refused`, here and later, if it
 * can't be written.
 */
export async function openRejects(
  path: string,
  { inputs, databasePath }: { inputs: readonly (string | number)[]; databasePath: string | null },
  mayOverwrite: MayOverwrite,
): Promise<Rejects> {
  const guarded = <T>(act: () => T): T => {
    try {
      return act();
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const code = (cause as NodeJS.ErrnoException).code ?? 'unknown fault';
      throw fileRefusal(`The --rejects file ${path} can't be written (${code}).`, cause);
    }
  };
  const fd = guarded(() => openChecked(path, inputs, databasePath));
  try {
    const stats = fstatSync(fd);
    if (stats.isFile()) {
      const isFree = stats.size === 0 && stats.nlink === 1;
      if (!isFree && !(await mayOverwrite({ bytes: stats.size, mayBeOurs: mayBeRejects(fd, stats) }))) {
        throw new AppError('cancelled', `Cancelled: ${path} was not overwritten, and nothing was changed.`);
      }
      guarded(() => {
        fchmodSync(fd, 0o600);
        ftruncateSync(fd);
      });
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  const write = (bytes: Uint8Array): void =>
    guarded(() => {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    });
  return {
    writeLine: (line) => write(Buffer.concat([Buffer.from(line as Uint8Array), LINE_FEED])),
    writePiece: write,
    close: () => closeSync(fd),
  };
}

const LINE_FEED = Buffer.from('\n');

/** Opens the file without emptying it, so that all further checks are about this very file. */
function openChecked(path: string, inputs: readonly (string | number)[], databasePath: string | null): number {
  const taken = fileOf(path);
  const database =
    databasePath === null ? [] : ['', '-wal', '-shm', '.lock'].map((suffix) => fileOf(databasePath + suffix));
  if (taken !== undefined && database.some((file) => isSame(taken, file))) {
    throw new AppError('usage', `--rejects names a file of the database: ${path}.`);
  }
  if (taken !== undefined && inputs.some((input) => isSame(taken, fileOf(input)))) {
    throw new AppError('usage', `--rejects names a file that the import itself reads: ${path}.`);
  }
  const other = taken === undefined ? statSync(path, { throwIfNoEntry: false }) : undefined;
  if (other?.isFIFO() === true) return openPipe(path);
  return openSync(path, other !== undefined ? 'w' : constants.O_RDWR | constants.O_CREAT, 0o600);
}

/** Throws the system's ENXIO if nobody reads the pipe; opening it would otherwise block until somebody does. */
function openPipe(path: string): number {
  const probe = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    return openSync(path, 'w');
  } finally {
    closeSync(probe);
  }
}

const HEAD_BYTES = 4_096;

/**
 * Whether an earlier import may have written this file: unreadable to others, with a single name and lines that look
 * like JSON.
 */
function mayBeRejects(fd: number, { mode, uid, nlink }: Stats): boolean {
  if ((mode & 0o777) !== 0o600 || nlink !== 1 || uid !== process.getuid?.()) return false;
  const head = Buffer.alloc(HEAD_BYTES);
  const lines = head.toString('latin1', 0, readSync(fd, head, 0, head.length, 0)).split('\n');
  return lines.some((line) => /^\s*\{./.test(line));
}

/** The status of a regular file by path or descriptor; undefined if it does not exist or is not a regular file. */
function fileOf(file: string | number): Stats | undefined {
  const stats = typeof file === 'number' ? fstatSync(file) : statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() ? stats : undefined;
}

function isSame(one: Stats, other: Stats | undefined): boolean {
  return one.ino === other?.ino && one.dev === other.dev;
}
