import type { KeyState } from '../db/key-columns.ts';

// Cursors of lists of keys, which all have one order: pending keys first, each group oldest first. A cursor stays valid when
// its key is decided, so that the next page skips no key.

/** 1 if the key was pending, else 0; when it was requested, in milliseconds since 1970; its identifier. */
const CURSOR = /^([01])-(\d{1,15})-([0-9A-Za-z]{8})$/;

/** Matches the identifiers of keys. */
export const IDENTIFIER = /^[0-9A-Za-z]{8}$/;

/** Whether a string can be the identifier of a key. */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

/** A position in the list, after a key. */
export type Cursor = { isPending: boolean; requestedAtMs: number; identifier: string };

/** The cursor after a key, as text. */
export function cursorOf(key: { state: KeyState; requestedAt: string; identifier: string }): string {
  return `${key.state === 'pending' ? 1 : 0}-${Date.parse(key.requestedAt)}-${key.identifier}`;
}

/** Parses the text of {@link cursorOf}; null for any other string. */
export function readCursor(text: string): Cursor | null {
  const [, group, at, identifier] = CURSOR.exec(text) ?? [];
  return identifier === undefined ? null : { isPending: group === '1', requestedAtMs: Number(at), identifier };
}
