import { createPrompt, isEnterKey, type Status, useEffect, useKeypress, usePrefix, useState } from '@inquirer/core';
import inquirer from 'inquirer';
import { PERMISSIONS, type Permission } from '../shared/db/key-columns.ts';
import { AppError } from '../shared/errors.ts';

// Prompts read stdin and write stderr; stdout is for results. Callers ask only where `canAsk()`.

type TextQuestion = {
  message: string;
  /** What is expected, shown while nothing is typed. */
  hint: string;
  /** What is there to begin with. */
  initial?: string;
  /** The rule itself, as the product checks it: a sentence, or null. Shown as one types; Enter waits for null. */
  fault: (text: string) => string | null;
};

const textPrompt = createPrompt<string, TextQuestion>((question, done) => {
  const [status, setStatus] = useState<Status>('idle');
  const [value, setValue] = useState(question.initial ?? '');
  const prefix = usePrefix({ status });
  useEffect((rl) => {
    if (question.initial !== undefined) rl.write(question.initial);
  }, []);
  useKeypress((key, rl) => {
    if (status === 'done') return;
    if (!isEnterKey(key)) return setValue(rl.line);
    if (question.fault(value) !== null) return rl.write(value);
    setStatus('done');
    done(value);
  });
  const below = value === '' ? question.hint : (question.fault(value) ?? `${question.message}: fine. Enter to go on.`);
  return [`${prefix} ${question.message}: ${value}`, status === 'done' ? '' : below];
});

/** Asks for a text, checking it against its rule as it is typed. Throws `cancelled`. */
export function askText(question: TextQuestion): Promise<string> {
  return ask((context) => textPrompt(question, context));
}

/** Asks which permissions, as checkboxes; at least one. Throws `cancelled`. */
export function askPermissions(message: string, checked: readonly Permission[]): Promise<Permission[]> {
  return askOne<Permission[]>({
    type: 'checkbox',
    message,
    required: true,
    choices: PERMISSIONS.map((value) => ({ value, checked: checked.includes(value) })),
  });
}

/** Asks which of these. Throws `cancelled`. */
export function askChoice<T extends string>(
  message: string,
  choices: readonly { value: T; name: string }[],
): Promise<T> {
  return askOne<T>({ type: 'select', message, choices: [...choices] });
}

/** Asks yes or no, no being the default. Throws `cancelled`. */
export function confirm(message: string): Promise<boolean> {
  return askOne<boolean>({ type: 'confirm', message, default: false });
}

/** Asks for a secret without ever showing it. Throws `cancelled`. */
export function askSecret(message: string): Promise<string> {
  return askOne<string>({ type: 'password', message, mask: false, toggleMask: false });
}

type Streams = { output: NodeJS.WritableStream; signal: AbortSignal };

function askOne<T>(question: Record<string, unknown>): Promise<T> {
  return ask(async (streams) => {
    const prompt = inquirer.createPromptModule(streams);
    const answers = (await prompt([{ ...question, name: 'answer' }] as never)) as { answer: T };
    return answers.answer;
  });
}

/** On Bun a prompt waits for ever at Ctrl-D and at the end of input, so both cancel it here, as Ctrl-C does by itself. */
async function ask<T>(run: (streams: Streams) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const cancel = () => controller.abort();
  const watch = (chunk: Buffer | string) => {
    if (chunk.toString().includes('\u0004')) cancel();
  };
  process.stdin.on('data', watch).once('end', cancel).once('close', cancel);
  try {
    return await run({ output: process.stderr, signal: controller.signal });
  } catch (error) {
    const cancelled = /^(ExitPrompt|AbortPrompt|CancelPrompt)Error$/.test(error instanceof Error ? error.name : '');
    throw cancelled ? new AppError('cancelled') : error;
  } finally {
    process.stdin.off('data', watch).off('end', cancel).off('close', cancel).pause();
  }
}
