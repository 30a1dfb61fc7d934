import { AppError } from '../../shared/errors.ts';
import { canAsk } from './output.ts';
import { confirm } from './prompts.ts';

/** Returns the value of a flag that is required here. Throws `usage`, naming the flag, if it is missing. */
export function needed<T>(value: T | undefined, flag: string): T {
  if (value === undefined) throw new AppError('usage', `${flag} is missing.`);
  return value;
}

/** Reads a whole number. Throws `usage`, naming the flag, if the text is none within these bounds. */
export function wholeNumber(flag: string, text: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
  const number = /^(?:0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new AppError('usage', `${flag} must be a whole number from ${least} to ${most}.`);
}

/**
 * True if a command asks for what is missing and for a confirmation: on a terminal, without `--yes`. Throws `usage` if stdin
 * is a terminal but stderr is not: the person could not see a question, and to continue would count as a yes.
 */
export function isAsking(yes: boolean): boolean {
  if (!yes && process.stdin.isTTY && !canAsk()) {
    throw new AppError('usage', 'Cannot prompt (stderr is not a terminal); add --yes.');
  }
  return !yes && canAsk();
}

/**
 * Asks for a confirmation before something that can't be undone, unless `--yes` was given. Throws `cancelled` after a no,
 * and `usage` if nobody can be asked.
 */
export async function confirmOrYes(yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw new AppError('usage', 'Cannot prompt (there is no terminal); add --yes.');
  if (!(await confirm(question))) throw new AppError('cancelled');
}
