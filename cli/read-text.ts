import { createReadStream } from 'node:fs';
import { AppError } from '../shared/errors.ts';
import { notice } from './output.ts';

/** The greatest number of bytes that is read: more than any text of a key may have. */
const MAX_BYTES = 65_536;

/**
 * Reads a text from a file, or from stdin if `file` is "-". Throws `usage`, naming `flag`, if the text can't be read, is
 * longer than 64 KiB or is not UTF-8.
 */
export async function readTextFile(flag: string, file: string): Promise<string> {
  if (file === '-' && process.stdin.isTTY) notice('Reading from the terminal; Ctrl-D on an empty line ends it.');
  const bytes = await readBytes(flag, file);
  if (bytes.length > MAX_BYTES) throw new AppError('usage', `${flag} names more than ${MAX_BYTES / 1024} KiB of text.`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new AppError('usage', `${flag} must name a text in UTF-8.`);
  }
}

async function readBytes(flag: string, file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      chunks.push(Buffer.from(chunk as Uint8Array));
      length += (chunk as Uint8Array).length;
      if (length > MAX_BYTES) break;
    }
  } catch (cause) {
    throw new AppError('usage', `${flag} names a file that can't be read: ${file}.`, { cause });
  }
  return Buffer.concat(chunks);
}
