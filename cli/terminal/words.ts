import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { AppError } from '../../shared/errors.ts';

/** Whether `--json` is among the arguments, for errors before Commander has read them. */
export function isJsonAsked(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).includes('--json');
}

/** Whether an argument contains U+FFFD, which replaces invalid UTF-8. */
export function isSuspicious(word: string): boolean {
  return word.includes('\uFFFD');
}

/**
 * Returns `usage` if an argument is not UTF-8, otherwise null. The runtime replaces invalid bytes with U+FFFD, so the command
 * would use a file or name other than the one that was typed. `words` are the arguments as the runtime provides them.
 */
export function mangledFault(words: readonly string[]): AppError | null {
  const typed = readTyped(words.length);
  const at = words.findIndex(
    (word, index) => isSuspicious(word) && (typed === null || !isUtf8(typed[index] as Buffer)),
  );
  // The sentence does not repeat the argument, because it may be a secret.
  return at === -1 ? null : new AppError('usage', `Argument ${at + 1} is not UTF-8; nothing was done.`);
}

/** The last `count` arguments of this process as bytes; null on systems without /proc. */
function readTyped(count: number): Buffer[] | null {
  try {
    const all = readFileSync('/proc/self/cmdline').toString('latin1').split('\0').slice(0, -1);
    return all.length < count ? null : all.slice(-count).map((word) => Buffer.from(word, 'latin1'));
  } catch {
    return null;
  }
}
