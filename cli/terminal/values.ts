import { AppError } from '../../shared/errors.ts';
import { canAsk, notice } from './output.ts';
import { confirm } from './prompts.ts';

/** Returns the value of a required flag. Throws `usage`, naming the flag, if it is missing. */
export function needed<T>(value: T | undefined, flag: string): T {
  if (value === undefined) throw new AppError('usage', `${flag} is missing.`);
  return value;
}

/** Gathers the values of a flag that may be repeated. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

/** Parses a whole number. Throws `usage`, naming the flag, if it is malformed or out of bounds. */
export function wholeNumber(flag: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const number = /^(?:0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new AppError('usage', `${flag} must be a whole number from ${min} to ${max}.`);
}

/**
 * Whether a command asks for missing values and a confirmation: on a terminal, without `--yes`. Throws `usage` if stdin is a
 * terminal but stderr is not: the person could not see the question, and continuing would count as a yes.
 */
export function isAsking(yes: boolean): boolean {
  if (!yes && process.stdin.isTTY && !canAsk()) {
    throw new AppError('usage', 'Cannot prompt (stderr is not a terminal); add --yes.');
  }
  return !yes && canAsk();
}

/**
 * Asks for confirmation before something that can't be undone, unless `--yes` was given. Throws `cancelled` if it is
 * declined, and `usage` without a terminal.
 */
export async function confirmOrYes(yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw new AppError('usage', 'Cannot prompt (there is no terminal); add --yes.');
  if (!(await confirm(question))) throw new AppError('cancelled');
}

/**
 * Runs `act`, which shows a state, asks for confirmation and acts on it. If the state has changed since it was shown
 * (`changed_since`), prints what changed and runs `act` again, so that the person confirms the new state. Without `isAsking`,
 * throws that refusal.
 */
export async function retryIfChanged<T>(isAsking: boolean, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!isAsking || !(error instanceof AppError) || error.code !== 'changed_since') throw error;
      notice(`\n${error.message}\n`);
    }
  }
}
