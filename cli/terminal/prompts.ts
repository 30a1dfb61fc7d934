import { editorCommand, isDumbTerminal } from '../../shared/config/environment.ts';
import type { Permission } from '../../shared/db/key-columns.ts';
import { editText } from './prompts/editor.ts';
import * as plain from './prompts/plain.ts';
import type { Choice, TextQuestion } from './prompts/question.ts';
import * as rich from './prompts/rich.ts';

// Prompts read stdin and write to stderr, because stdout is for results. Call them only if `canAsk()` is true.

function prompts(): typeof rich {
  return isDumbTerminal() ? plain : rich;
}

/** Asks for text, again until it is valid. Throws `cancelled`. */
export function askText(question: TextQuestion): Promise<string> {
  return prompts().askText(question);
}

/** Asks for text of one or more lines, in the editor of VISUAL or EDITOR if one is set. Throws `cancelled`. */
export async function askLongText(question: TextQuestion): Promise<string> {
  const editor = isDumbTerminal() ? null : editorCommand();
  if (editor === null) return askText({ ...question, isLong: true });
  // Most people leave optional fields empty, so the editor opens only if they want to fill one in.
  const isOptional = question.fault('') === null && (question.initial ?? '') === '';
  if (isOptional && !(await confirm(`${question.message} is optional. Write it?`))) return '';
  return editText(editor, question, confirm);
}

/** Asks for one or more permissions. Throws `cancelled`. */
export function askPermissions(message: string, checked: readonly Permission[]): Promise<Permission[]> {
  return prompts().askPermissions(message, checked);
}

/** Asks for one of several choices. Throws `cancelled`. */
export function askChoice<T extends string>(message: string, choices: readonly Choice<T>[]): Promise<T> {
  return prompts().askChoice(message, choices);
}

/** Asks for yes or no; no is the default. Throws `cancelled`. */
export function confirm(message: string): Promise<boolean> {
  return prompts().confirm(message);
}

/** Asks for a secret without ever showing it. Throws `cancelled`. */
export function askSecret(message: string): Promise<string> {
  return prompts().askSecret(message);
}
