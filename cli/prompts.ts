import { editorCommand, isDumbTerminal } from '../shared/config/environment.ts';
import type { Permission } from '../shared/db/key-columns.ts';
import type { Choice, TextQuestion } from './prompts/question.ts';

// Prompts read stdin and write stderr, because stdout is for results. Call them only if `canAsk()` returns true.

function load() {
  return isDumbTerminal() ? import('./prompts/plain.ts') : import('./prompts/rich.ts');
}

/** Asks for a text, again until it is valid. Throws `cancelled`. */
export async function askText(question: TextQuestion): Promise<string> {
  return (await load()).askText(question);
}

/** Asks for a text of one or more lines, in the editor that EDITOR names if it is set. Throws `cancelled`. */
export async function askLongText(question: TextQuestion): Promise<string> {
  const editor = isDumbTerminal() ? null : editorCommand();
  if (editor === null) return askText({ ...question, isLong: true });
  // For an optional text the editor opens only after a yes, because most people leave such texts empty.
  const isOptional = question.fault('') === null && (question.initial ?? '') === '';
  if (isOptional && !(await confirm(`${question.message} is optional. Write it?`))) return '';
  const { editText } = await import('./prompts/editor.ts');
  return editText(editor, question, confirm);
}

/** Asks for one or more permissions. Throws `cancelled`. */
export async function askPermissions(message: string, checked: readonly Permission[]): Promise<Permission[]> {
  return (await load()).askPermissions(message, checked);
}

/** Asks for one of several choices. Throws `cancelled`. */
export async function askChoice<T extends string>(message: string, choices: readonly Choice<T>[]): Promise<T> {
  return (await load()).askChoice(message, choices);
}

/** Asks for yes or no; no is the default. Throws `cancelled`. */
export async function confirm(message: string): Promise<boolean> {
  return (await load()).confirm(message);
}

/** Asks for a secret without ever showing it. Throws `cancelled`. */
export async function askSecret(message: string): Promise<string> {
  return (await load()).askSecret(message);
}
