import type { DistinctQuestion } from 'inquirer';
import { PERMISSIONS, type Permission } from '../../shared/db/schema.ts';
import { AppError } from '../../shared/errors.ts';
import { cleanForTerminal } from '../../shared/text.ts';

// Prompts read stdin and write to stderr, because stdout is for results. Call them only if `canAsk()` is true.

/** A question that is answered with free text. */
type TextQuestion = {
  message: string;
  /** The answer of Enter alone, without control and bidirectional characters; Tab writes it, to be changed. */
  initial?: string;
  /** Returns a sentence that says what is wrong with the text; null if it is valid. */
  fault: (text: string) => string | null;
};

/** Asks for text, until it is valid. Throws `cancelled`. */
export function askText(question: TextQuestion): Promise<string> {
  return ask<string>({ type: 'input', name: ANSWER, ...textOf(question) });
}

/**
 * Asks for text of one or more lines: in the editor of VISUAL or EDITOR if one is set and stdout is a terminal, to which an
 * editor writes. Optional text that is empty is asked for without it. Throws `cancelled`.
 */
export function askLongText(question: TextQuestion): Promise<string> {
  const isOptional = question.fault('') === null && (question.initial ?? '') === '';
  if (isOptional || !(process.env.VISUAL || process.env.EDITOR) || process.stdout.isTTY !== true)
    return askText(question);
  return ask<string>({ type: 'editor', name: ANSWER, file: { mode: 0o600 }, ...textOf(question) });
}

/** Asks for one or more permissions. Throws `cancelled`. */
export function askPermissions(message: string, checked: readonly Permission[]): Promise<Permission[]> {
  const choices = PERMISSIONS.map((value) => ({ value, checked: checked.includes(value) }));
  return ask<Permission[]>({ type: 'checkbox', name: ANSWER, message, required: true, choices });
}

/** Asks for one of several choices. Throws `cancelled`. */
export function askChoice<T extends string>(message: string, choices: { value: T; name: string }[]): Promise<T> {
  return ask<T>({ type: 'select', name: ANSWER, message, choices, loop: false });
}

/** Asks for yes or no; no is the default. Throws `cancelled`. */
export function confirm(message: string): Promise<boolean> {
  return ask<boolean>({ type: 'confirm', name: ANSWER, message, default: false });
}

function textOf({ message, initial = '', fault }: TextQuestion) {
  return { message, default: cleanForTerminal(initial, true), validate: (text: string) => fault(text) ?? true };
}

/** The name under which inquirer returns the answer to our only question. */
const ANSWER = 'answer';

/** Asks one question. Ctrl-D and the end of the input cancel it, because on Bun inquirer would wait forever. */
async function ask<T>(question: DistinctQuestion): Promise<T> {
  const controller = new AbortController();
  const cancel = () => controller.abort();
  const watch = (chunk: Buffer | string) => {
    if (chunk.toString().includes('\u0004')) cancel();
  };
  // Before the prompt's own listener, which inquirer keeps from one question to the next.
  process.stdin.prependListener('data', watch).once('end', cancel).once('close', cancel);
  try {
    // Loaded only to ask, so that other commands begin sooner.
    const { default: inquirer } = await import('inquirer');
    const prompt = inquirer.createPromptModule({ output: process.stderr, signal: controller.signal });
    const answers: Record<string, unknown> = await prompt([question]);
    return answers[ANSWER] as T;
  } catch (error) {
    const isCancelled = error instanceof Error && /^(Exit|Abort|Cancel)PromptError$/.test(error.name);
    throw isCancelled ? new AppError('cancelled') : error;
  } finally {
    process.stdin.off('data', watch).off('end', cancel).off('close', cancel).pause();
  }
}
