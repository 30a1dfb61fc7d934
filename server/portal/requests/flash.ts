import type { KeyEventName } from '../../../shared/db/event-columns.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { ALL_OPERATIONS } from '../../../shared/operations.ts';

/** Messages about a form's effect, shown on the next page. They are constant, and include no values. */
const FLASHES = {
  'signed-out': 'You are signed out.',
  'signed-out-here':
    'This browser is signed out, but the server could not record that. If somebody else may have copied your session, sign in again later and end the old session under Sessions.',
  'session-ended': 'Session ended.',
  'sessions-ended': 'All your sessions have ended, and profilectl no longer has access on any machine.',
  'passkey-added': 'Passkey added.',
  'passkey-registered': 'Your passkey is registered: sign in with it.',
  'passkey-removed': 'Passkey removed. All your sessions have ended.',
  found:
    'Thank you. Any Active or suspended key whose secret was in your text is now revoked, and its owner and the admins are notified. If there were more than ten secrets in it, paste the others.',
} as const;

/** The code of a message: one of these, or that of an operation on keys, by its event. */
export type FlashCode = keyof typeof FLASHES | `key-${KeyEventName}`;

const LINES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(FLASHES),
  ...ALL_OPERATIONS.flatMap(({ event, texts }): [string, string][] =>
    event === null || texts.done === null ? [] : [[`key-${event}`, texts.done]],
  ),
]);

/** The redirect after an operation, with its message unless the next page makes it clear. */
export function doneAt(seeOther: string, { event, texts }: Pick<AnyOperation, 'event' | 'texts'>) {
  const isSaid = event !== null && texts.done !== null;
  return { seeOther, ...(isSaid && { flash: `key-${event}` as const }) };
}

/** The message for a code from a cookie; null if the code is unknown. */
export function flashText(code: string | null): string | null {
  return code === null ? null : (LINES.get(code) ?? null);
}
