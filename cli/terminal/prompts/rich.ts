import inquirer, { type DistinctQuestion } from 'inquirer';
import { PERMISSIONS, type Permission } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import type { Choice, TextQuestion } from './question.ts';
import { MARK_NO_PASTES, MARK_PASTES, type PastedLineEnds, textPrompt } from './text.ts';

// Prompts for a terminal that can move its cursor.

/** The name under which inquirer returns the answer to our only question. */
const ANSWER = 'answer';

/** Asks for text, and checks it while it is typed. Throws `cancelled`. */
export function askText(question: TextQuestion): Promise<string> {
  return ask(({ lineEnds, ...streams }) => textPrompt({ ...question, lineEnds }, streams));
}

/** Asks for one or more permissions with checkboxes. Throws `cancelled`. */
export function askPermissions(message: string, checked: readonly Permission[]): Promise<Permission[]> {
  return askOne<Permission[]>({
    type: 'checkbox',
    name: ANSWER,
    message,
    required: true,
    choices: PERMISSIONS.map((value) => ({ value, checked: checked.includes(value) })),
  });
}

/** Asks for one of several choices. Throws `cancelled`. */
export function askChoice<T extends string>(message: string, choices: readonly Choice<T>[]): Promise<T> {
  return askOne<T>({ type: 'select', name: ANSWER, message, choices: [...choices] });
}

/** Asks for yes or no; no is the default. Throws `cancelled`. */
export function confirm(message: string): Promise<boolean> {
  return askOne<boolean>({ type: 'confirm', name: ANSWER, message, default: false });
}

/** Asks for a secret without ever showing it. Throws `cancelled`. */
export function askSecret(message: string): Promise<string> {
  return askOne<string>({ type: 'password', name: ANSWER, message, mask: false, toggleMask: false });
}

type Streams = { output: NodeJS.WritableStream; signal: AbortSignal };

function askOne<T>(question: DistinctQuestion): Promise<T> {
  return ask(async ({ output, signal }) => {
    const prompt = inquirer.createPromptModule({ output, signal });
    const answers: Record<string, unknown> = await prompt([question]);
    return answers[ANSWER] as T;
  });
}

/** Runs a prompt, and cancels it at Ctrl-D and at the end of the input, because on Bun it would wait forever. */
async function ask<T>(run: (streams: Streams & { lineEnds: PastedLineEnds }) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const cancel = () => controller.abort();
  const lineEnds = { left: 0 };
  // This listener must run before the prompt's own listener, which inquirer keeps from one question to the next.
  const watch = (chunk: Buffer | string) => {
    const text = chunk.toString();
    if (text.includes('\u0004')) cancel();
    lineEnds.left = text.includes('\u001b[200~') ? 0 : (text.match(/[\r\n]+(?=[^\r\n])/g)?.join('').length ?? 0);
  };
  process.stdin.prependListener('data', watch).once('end', cancel).once('close', cancel);
  process.stderr.write(MARK_PASTES);
  try {
    return await run({ output: process.stderr, signal: controller.signal, lineEnds });
  } catch (error) {
    const cancelled = /^(ExitPrompt|AbortPrompt|CancelPrompt)Error$/.test(error instanceof Error ? error.name : '');
    throw cancelled ? new AppError('cancelled') : error;
  } finally {
    process.stderr.write(MARK_NO_PASTES);
    process.stdin.off('data', watch).off('end', cancel).off('close', cancel).pause();
  }
}
