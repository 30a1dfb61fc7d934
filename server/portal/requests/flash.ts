import type { KeyEventName } from '../../../shared/db/key-columns.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { ALL_OPERATIONS } from '../../../shared/operations.ts';

/** The lines that tell what a form has done, on the page that is shown next. The list is closed: no line has a value in it. */
const FLASHES = {
  'signed-in': 'You are signed in.',
  'signed-out': 'You are signed out.',
  'signed-out-here':
    'This browser is signed out, but the server could not store that the session has ended. If somebody else may have its cookie, sign in again later and end it under Sessions.',
  'session-ended': 'Session ended.',
  'cli-ended': 'That profilectl no longer has access.',
  'sessions-ended': 'All your sessions have ended, and no profilectl has access any longer.',
  'passkey-removed': 'Passkey removed. All your sessions have ended.',
  found:
    'Thank you. Any Active or suspended key whose secret was in your text is revoked now, and its owner and the admins are told.',
} as const;

/** Which line: one of these, or that of an operation on keys, by the event that tells of it. */
export type FlashCode = keyof typeof FLASHES | `key-${KeyEventName}`;

const LINES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(FLASHES),
  ...ALL_OPERATIONS.flatMap(({ event, texts }): [string, string][] =>
    event === null || texts === null || texts.done === null ? [] : [[`key-${event}`, texts.done]],
  ),
]);

/** Where a form leads that has done an operation, with the line that says so, unless the page there says it by itself. */
export function doneAt(seeOther: string, { event, texts }: Pick<AnyOperation, 'event' | 'texts'>) {
  const isSaid = event !== null && texts !== null && texts.done !== null;
  return { seeOther, ...(isSaid && { flash: `key-${event}` as const }) };
}

/** The line of a code that a cookie has brought back; null where it is none. */
export function flashText(code: string | null): string | null {
  return code === null ? null : (LINES.get(code) ?? null);
}
