import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { databaseFiles } from '../../db/file.ts';
import { AppError, fileRefusal } from '../../errors.ts';
import { shellWord } from '../../text.ts';

/** The source of lines: a file's path, or chunks of bytes, as from stdin. */
export type ImportSource = string | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

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

/** Waits for enough bytes, however they are divided into chunks, and passes them to `check`. Returns all bytes. */
async function checkBeginning(
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
  if (code === 'EISDIR') return folderRefusal(what);
  if (code === 'ENOSPC') return fileRefusal('No space is left on the disk of the database.');
  return fileRefusal(`${what} can't be read (${code}).`, error);
}

/** Throws `refused` if the file does not exist, is a folder, or may not be read. */
function checkSource(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw sourceFault(path, error) ?? error;
  }
  if (statSync(path).isDirectory()) throw folderRefusal(path);
}

function folderRefusal(path: string): AppError {
  return fileRefusal(`${path} is a folder, not a file of JSON Lines.`);
}

/**
 * Copies a pipe to a file without a name beside the database, so that a transaction need not wait for whoever writes the
 * pipe. A file stays as it is.
 */
export async function withoutWaiting(source: ImportSource, databasePath: string): Promise<ImportSource> {
  if (typeof source === 'string' && statSync(source, { throwIfNoEntry: false })?.isFile()) return source;
  const path = `${databasePath}.${randomUUID()}.import`;
  const fd = openSync(path, 'wx+', 0o600);
  // Without a name, it disappears when this process ends, however it ends.
  unlinkSync(path);
  for await (const chunk of chunksOf(source)) {
    for (let done = 0; done < chunk.length; ) done += writeSync(fd, chunk, done);
  }
  return createReadStream('', { fd, start: 0, highWaterMark: 262_144 });
}

/**
 * Why the beginning of a file can't be JSON Lines or a JSON array, as a sentence with the command that converts it; null
 * if it can. `file` is its path, null for a stream.
 */
export function formatFault(head: Uint8Array, file: string | null): string | null {
  const otherFormat = (what: string, command: string) => {
    const words = file === null ? command : `${command} ${command.startsWith('tr ') ? '< ' : ''}${shellWord(file)}`;
    return `${file ?? 'The input'} ${what}. Try: ${words} | profilectl profiles import -`;
  };
  if (head[0] === 0x1f && head[1] === 0x8b) return otherFormat('is compressed with gzip', 'zcat');
  const encoding = utf16Of(head);
  if (encoding !== null) return otherFormat('is UTF-16, and JSON Lines are UTF-8', `iconv -f ${encoding} -t UTF-8`);
  if (head[0] === 0x1e) return otherFormat('is a JSON sequence (jq --seq), not JSON Lines', "tr -d '\\036'");
  const end = head.lastIndexOf(LF);
  // A truncated line proves nothing, unless it is the only one.
  const text = new TextDecoder().decode(end === -1 ? head : head.subarray(0, end));
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const [first = ''] = lines;
  const separator = lines.some((line) => /^\s*[[{]/.test(line)) ? undefined : /[\t;,]/.exec(first)?.[0];
  if (separator === undefined) return null;
  const separated = separator === ',' ? '' : separator === '\t' ? ' --ifs tab' : " --ifs ';'";
  return otherFormat('is CSV, not JSON Lines', `mlr --icsv${separated} --ojsonl cat`);
}

/**
 * The encoding's name for iconv, or null. Recognised by the byte order mark, or by the zero byte in each ASCII
 * character.
 */
function utf16Of(head: Uint8Array): string | null {
  const [a, b] = head;
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return 'UTF-16';
  if (a !== undefined && a !== 0 && b === 0) return 'UTF-16LE';
  return a === 0 && b !== undefined && b !== 0 ? 'UTF-16BE' : null;
}

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

const [CR, SPACE] = [0x0d, 0x20];
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
  const isDatabase = databaseFiles(databasePath).some((file) => isOwn(statSync(file, { throwIfNoEntry: false })));
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
