import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { AppError } from '../../shared/errors.ts';

/** Whether `--json` is among the arguments, for what happens before Commander has read them. */
export function isJsonAsked(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).includes('--json');
}

/** Whether an argument contains U+FFFD, with which the runtime replaces bytes that are not UTF-8. */
export function isSuspicious(word: string): boolean {
  return word.includes('\uFFFD');
}

/**
 * The error, `usage`, if an argument is not UTF-8: the runtime replaces its invalid bytes with U+FFFD, and the command would
 * use another file or name than the one that was typed. Otherwise null. `words` are the arguments as the runtime gives them.
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
