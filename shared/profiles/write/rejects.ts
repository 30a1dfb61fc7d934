import { closeSync, fstatSync, openSync, type Stats, statSync, writeSync } from 'node:fs';
import { AppError } from '../../errors.ts';

/** The file that gets the lines themselves that an import refuses, as they came. */
export type Rejects = {
  writeLine: (line: string | Uint8Array) => void;
  /** Bytes of a line that is too long to be held, its line feed too. */
  writePiece: (piece: Uint8Array) => void;
  close: () => void;
};

/**
 * Makes the file (0600), or empties it: it holds private data, and yesterday's lines would be taken for today's. Throws
 * `usage` where it is one of `others`, paths or descriptors of what the import reads and writes, and `refused`, from here
 * on too, where it can't be written.
 */
export function openRejects(path: string, others: readonly (string | number)[]): Rejects {
  const taken = fileOf(path);
  if (taken !== undefined && others.some((other) => isSame(taken, fileOf(other)))) {
    throw new AppError('usage', `--rejects names a file that the import itself reads or writes: ${path}.`);
  }
  const guarded = <T>(act: () => T): T => {
    try {
      return act();
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? 'unknown fault';
      throw new AppError('refused', `The file of --rejects, ${path}, can't be written (${code}).`, { cause });
    }
  };
  const fd = guarded(() => openSync(path, 'w', 0o600));
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

/** What is known of a regular file, of its path or descriptor; undefined where there is none, or it is something else. */
function fileOf(file: string | number): Stats | undefined {
  const stats = typeof file === 'number' ? fstatSync(file) : statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() ? stats : undefined;
}

function isSame(one: Stats, other: Stats | undefined): boolean {
  return one.ino === other?.ino && one.dev === other.dev;
}
