import { decodeUtf8, readSmallText, type SmallFile, tooLarge } from '../../shared/config/small-file.ts';
import { AppError } from '../../shared/errors.ts';
import { notice } from './output.ts';

/** More than any text of a key may have. */
const MAX_KIB = 64;

/**
 * Reads text from a file, or from stdin if `path` is "-". Throws `usage`, naming `flag`, if the text can't be read, is
 * longer than `maxKib` KiB or is not UTF-8.
 */
export async function readTextFile(flag: string, path: string, maxKib = MAX_KIB): Promise<string> {
  const file: SmallFile = { name: flag, path: path === '-' ? 'stdin' : path, maxKib, code: 'usage' };
  if (path !== '-') return readSmallText(file);
  if (process.stdin.isTTY) notice('Reading from the terminal; press Ctrl-D on an empty line to finish.');
  return decodeUtf8(file, await readInput(file));
}

async function readInput(file: SmallFile): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let left = file.maxKib * 1_024;
  try {
    for await (const chunk of process.stdin) {
      chunks.push(chunk as Uint8Array);
      left -= (chunk as Uint8Array).length;
      if (left < 0) throw tooLarge(file);
    }
  } catch (error) {
    throw inputFault(error);
  }
  return Buffer.concat(chunks);
}

/** Turns a system error while reading stdin, such as when it is a folder, into `usage`; returns other errors unchanged. */
function inputFault(error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new AppError('usage', `Standard input can't be read (${code}).`, { cause: error });
}
