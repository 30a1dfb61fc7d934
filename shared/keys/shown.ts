import { createHash } from 'node:crypto';
import type { Actor } from '../actor.ts';
import { AppError } from '../errors.ts';
import { type KeyView, type Reader, showKey } from './view.ts';

/**
 * The state of a key, and of the one that it is to replace, as a page shows it to admins; to be sent back by the page's form
 * as `shown`. A short text that says nothing of it, and is the same only for the same state; it leaves out the name of a key
 * that is decided. Throws `not_found`.
 */
export function shownState(reader: Reader, identifier: string): string {
  const key = showKey(reader, identifier, 'admin');
  const predecessor = key.successorOf === null ? null : showKey(reader, key.successorOf, 'admin');
  const states = [key, predecessor].map((view) => view && withoutLabel(view));
  return createHash('sha256').update(JSON.stringify(states)).digest('base64url');
}

/**
 * Owners can rename a key at any time. Once it is decided, its name is no reason to look again: else an owner who renames it
 * again and again could keep admins from revoking it.
 */
function withoutLabel(key: KeyView): Partial<KeyView> {
  if (key.state === 'pending') return key;
  const { name: _name, ...rest } = key;
  return rest;
}

/**
 * Throws `changed_since` where a key is not any more as the admin was shown it who decides on it. To be called with the
 * transaction that stores the decision: while that waited for the write lock, an import may have changed the address
 * that the secret goes to.
 */
export function refuseUnlikeShown(reader: Reader, identifier: string, by: Actor): void {
  if (by.kind !== 'admin' || by.shown === undefined) return;
  if (shownState(reader, identifier) !== by.shown) throw new AppError('changed_since');
}
