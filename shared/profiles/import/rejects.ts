import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { AppError, fileRefusal } from '../../errors.ts';

/** The file for the refused lines of an import. */
export type Rejects = {
  writeLine: (line: string | Uint8Array) => void;
  /** Writes bytes of a line that is too long to be held in memory, including its line feed. */
  writePiece: (piece: Uint8Array) => void;
  close: () => void;
};

/**
 * Creates the file (0600), or empties one of an earlier import: yesterday's lines would be mistaken for today's. Throws
 * `usage` if it belongs to a database or is `input`, the path or descriptor that the import reads; `refused` if it is
 * somebody else's, and, here and later, if it can't be written.
 */
export function openRejects(path: string, input: string | number, databasePath: string): Rejects {
  const guarded = <T>(act: () => T): T => {
    try {
      return act();
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const code = (cause as { code?: string }).code ?? 'unknown fault';
      throw fileRefusal(`The --rejects file ${path} can't be written (${code}).`, cause);
    }
  };
  const fd = guarded(() => openOwn(path, input, databasePath));
  const write = (bytes: Uint8Array): void =>
    guarded(() => {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    });
  return {
    // An element of an array may have line feeds, which are white space in JSON.
    writeLine: (line) => {
      const bytes = typeof line === 'string' ? Buffer.from(line) : line;
      write(Buffer.concat([bytes.map((byte) => (byte === LF || byte === CR ? SPACE : byte)), LINE_END]));
    },
    writePiece: write,
    close: () => closeSync(fd),
  };
}

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];
const LINE_END = Uint8Array.of(LF);

function openOwn(path: string, input: string | number, databasePath: string): number {
  // Opening a pipe that nobody reads would wait forever; without blocking it fails (ENXIO), and then the pipe has a reader.
  const isPipe = statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
  const probe = isPipe ? openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) : null;
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  if (probe !== null) closeSync(probe);
  const own = fstatSync(fd);
  if (!own.isFile()) return fd;
  const isOwn = (other: Stats | undefined) => other?.ino === own.ino && other.dev === own.dev;
  const isInput = isOwn(typeof input === 'number' ? fstatSync(input) : statSync(input));
  const sides = ['', '-wal', '-shm', '.lock'].map((suffix) =>
    statSync(databasePath + suffix, { throwIfNoEntry: false }),
  );
  const isDatabase = sides.some(isOwn);
  if (!isInput && !isDatabase && (own.size === 0 || (own.mode & 0o077) === 0)) {
    fchmodSync(fd, 0o600);
    ftruncateSync(fd);
    return fd;
  }
  closeSync(fd);
  if (isDatabase) throw new AppError('usage', `--rejects names a file of the database: ${path}.`);
  if (isInput) throw new AppError('usage', `--rejects names the file that the import itself reads: ${path}.`);
  throw fileRefusal(`${path} exists, and is not a file of refused lines; remove it, or name another file.`);
}
