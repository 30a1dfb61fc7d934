import { AppError } from '../shared/errors.ts';
import { canAsk } from './output.ts';

/** The value of a flag that this run can't do without. Throws `usage`, naming the flag. */
export function needed<T>(value: T | undefined, flag: string): T {
  if (value === undefined) throw new AppError('usage', `${flag} is missing.`);
  return value;
}

/** The sentence with which a check refuses, or null: what a prompt shows while one types. Throws what is no refusal. */
export function faultOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/**
 * Whether a command asks for what is missing and for a yes: on a terminal, without `--yes`. Throws `usage` where a person
 * is at the keyboard but could not see a question: going on would be taken for a yes.
 */
export function isAsking(yes: boolean): boolean {
  if (!yes && process.stdin.isTTY && !canAsk()) {
    throw new AppError('usage', '--yes is missing: stderr is not the terminal, so nothing can be asked.');
  }
  return !yes && canAsk();
}

/**
 * Lets an act that can't be undone go on: with `--yes`, or after a yes on a terminal. Throws `cancelled` after a no, and
 * `usage` where nobody can be asked.
 */
export async function confirmOrYes(yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw new AppError('usage', '--yes is missing: there is no terminal to confirm on.');
  const { confirm } = await import('./prompts.ts');
  if (!(await confirm(question))) throw new AppError('cancelled');
}
