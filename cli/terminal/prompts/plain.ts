import { PERMISSIONS, type Permission } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import { isPermission } from '../../../shared/keys/permissions.ts';
import type { Choice, TextQuestion } from './question.ts';

// Prompts for a terminal that can't move its cursor (TERM=dumb): each question is a line, and the answer is the next line.

/** The line that ends text of several lines. */
const LAST_LINE = '.';

/** The characters that a raw terminal sends for Ctrl-C and Ctrl-D, and for Backspace. */
const CANCEL_KEYS = ['\u0003', '\u0004'];
const ERASE_KEYS = ['\u0008', '\u007f'];

/** Input that was read after the end of the last answer, and belongs to the next one. */
let ahead = '';

/** Asks for text, again until it is valid. Throws `cancelled`. */
export async function askText({ message, hint, initial = '', isLong = false, fault }: TextQuestion): Promise<string> {
  const kept = initial === '' ? '' : `\n[${initial}] Enter keeps it.`;
  const ending = isLong ? `\nEnd it with a line that has only a dot.` : '';
  for (;;) {
    const typed = await (isLong ? readLines : readLine)(`${message} (${hint})${kept}${ending}\n> `);
    const text = typed === '' ? initial : typed;
    const sentence = fault(text);
    if (sentence === null) return text;
    say(`${sentence}\n`);
  }
}

/** Asks for the names of one or more permissions. Throws `cancelled`. */
export async function askPermissions(message: string, checked: readonly Permission[]): Promise<Permission[]> {
  for (;;) {
    const line = await readLine(`${message}: ${PERMISSIONS.join(', ')}; one or both [${checked.join(', ')}]\n> `);
    const names = line.split(/[\s,]+/).filter((name) => name !== '');
    const chosen = names.length === 0 ? [...checked] : names;
    if (chosen.length > 0 && chosen.every(isPermission)) return chosen;
    say('Type one or both names, separated by a comma.\n');
  }
}

/** Asks for the number of one of several choices. Throws `cancelled`. */
export async function askChoice<T extends string>(message: string, choices: readonly Choice<T>[]): Promise<T> {
  const list = choices.map(({ name }, index) => `${index + 1}) ${name}\n`).join('');
  for (;;) {
    const line = await readLine(`${list}${message} (1 to ${choices.length})\n> `);
    const chosen = choices[Number(line.trim()) - 1];
    if (chosen !== undefined) return chosen.value;
    say(`Type a number from 1 to ${choices.length}.\n`);
  }
}

/** Asks for yes or no; no is the default. Throws `cancelled`. */
export async function confirm(message: string): Promise<boolean> {
  return /^y(es)?$/i.test((await readLine(`${message} (y/N)\n> `)).trim());
}

/** Asks for a secret. The terminal does not show what is typed. Throws `cancelled`. */
export async function askSecret(message: string): Promise<string> {
  process.stdin.setRawMode(true);
  try {
    return await readLine(`${message} (input is hidden)\n> `);
  } finally {
    process.stdin.setRawMode(false);
    say('\n');
  }
}

function say(text: string): void {
  process.stderr.write(text);
}

async function readLines(question: string): Promise<string> {
  const lines: string[] = [];
  for (;;) {
    const line = await readLine(lines.length === 0 ? question : '');
    // Enter on the first line keeps the initial text.
    if (line === LAST_LINE || (line === '' && lines.length === 0)) return lines.join('\n');
    lines.push(line);
  }
}

/** Asks, and reads one line without its line end. Throws `cancelled` at Ctrl-C, Ctrl-D and the end of the input. */
async function readLine(question: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = () => reject(new AppError('cancelled'));
  const decoder = new TextDecoder();
  const read = (chunk: Buffer | string) => {
    ahead += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (CANCEL_KEYS.some((key) => ahead.includes(key))) cancel();
    else if (/[\r\n]/.test(ahead)) resolve();
  };
  process.once('SIGINT', cancel);
  process.stdin.on('data', read).once('end', cancel).once('close', cancel).resume();
  say(question);
  try {
    if (!/[\r\n]/.test(ahead)) await promise;
  } finally {
    process.stdin.off('data', read).off('end', cancel).off('close', cancel).pause();
    process.off('SIGINT', cancel);
  }
  const [, line = '', rest = ''] = /^([^\r\n]*)(?:\r\n|\r|\n)([\s\S]*)$/.exec(ahead) ?? [];
  ahead = rest;
  return withoutErased(line);
}

function withoutErased(line: string): string {
  let text = '';
  for (const character of line) text = ERASE_KEYS.includes(character) ? text.slice(0, -1) : text + character;
  return text;
}
