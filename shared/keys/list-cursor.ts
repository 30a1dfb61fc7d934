import type { KeyState } from '../db/key-columns.ts';

// Where a key stands in lists of keys, which have one order: pending keys first, each group oldest first. A key keeps its
// place when it is decided, so that nobody who reads on from there misses another one.

/** Whether the key was pending (1) or not, when it was requested (milliseconds since 1970), and its identifier. */
const CURSOR = /^([01])-(\d{1,15})-([0-9A-Za-z]{8})$/;

/** Whether a text can be the identifier of a key. */
export function isIdentifier(text: string): boolean {
  return /^[0-9A-Za-z]{8}$/.test(text);
}

/** A place: where among the keys of its group the one stands that was there. */
export type Cursor = { isPending: boolean; requestedAtMs: number; identifier: string };

/** The place of a key, as text. */
export function cursorOf(key: { state: KeyState; requestedAt: string; identifier: string }): string {
  return `${key.state === 'pending' ? 1 : 0}-${Date.parse(key.requestedAt)}-${key.identifier}`;
}

/** A place that was written by {@link cursorOf}; null for any other text. */
export function readCursor(text: string): Cursor | null {
  const [, group, at, identifier] = CURSOR.exec(text) ?? [];
  return identifier === undefined ? null : { isPending: group === '1', requestedAtMs: Number(at), identifier };
}
