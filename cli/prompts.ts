import { editorCommand, isDumbTerminal } from '../shared/config/environment.ts';
import type { Permission } from '../shared/db/key-columns.ts';
import type { Choice, TextQuestion } from './prompts/question.ts';

// Prompts read stdin and write stderr; stdout is for results. Callers ask only where `canAsk()`.

function load() {
  return isDumbTerminal() ? import('./prompts/plain.ts') : import('./prompts/rich.ts');
}

/** Asks for a text until it keeps its rule. Throws `cancelled`. */
export async function askText(question: TextQuestion): Promise<string> {
  return (await load()).askText(question);
}

/** Asks for a text that may have several lines: in the person's editor, where one is set. Throws `cancelled`. */
export async function askLongText(question: TextQuestion): Promise<string> {
  const editor = isDumbTerminal() ? null : editorCommand();
  if (editor === null) return askText({ ...question, isLong: true });
  // Nobody wants an editor for what he would leave empty.
  const isOptional = question.fault('') === null && (question.initial ?? '') === '';
  if (isOptional && !(await confirm(`${question.message} is optional. Write it?`))) return '';
  const { editText } = await import('./prompts/editor.ts');
  return editText(editor, question, confirm);
}

/** Asks which permissions, at least one. Throws `cancelled`. */
export async function askPermissions(message: string, checked: readonly Permission[]): Promise<Permission[]> {
  return (await load()).askPermissions(message, checked);
}

/** Asks which of these. Throws `cancelled`. */
export async function askChoice<T extends string>(message: string, choices: readonly Choice<T>[]): Promise<T> {
  return (await load()).askChoice(message, choices);
}

/** Asks yes or no, no being the default. Throws `cancelled`. */
export async function confirm(message: string): Promise<boolean> {
  return (await load()).confirm(message);
}

/** Asks for a secret without ever showing it. Throws `cancelled`. */
export async function askSecret(message: string): Promise<string> {
  return (await load()).askSecret(message);
}
