import { createHash } from 'node:crypto';
import type { Actor } from '../actor.ts';
import { AppError } from '../errors.ts';
import { type KeyView, type Reader, showKey } from './view.ts';

/**
 * Returns a hash of what a page shows admins of a key and of the one that it is to replace. The page's form sends it back as
 * `shown`, so that the decision can be compared with what the admin saw. The name of a key that is decided is left out.
 * Throws `not_found`.
 */
export function shownState(reader: Reader, identifier: string): string {
  const key = showKey(reader, identifier, 'admin');
  const predecessor = key.successorOf === null ? null : showKey(reader, key.successorOf, 'admin');
  const states = [key, predecessor].map((view) => view && withoutLabel(view));
  return createHash('sha256').update(JSON.stringify(states)).digest('base64url');
}

/** Without the name of a key that is decided: otherwise an owner could keep admins from revoking it by renaming it. */
function withoutLabel(key: KeyView): Partial<KeyView> {
  if (key.state === 'pending') return key;
  const { name: _name, ...rest } = key;
  return rest;
}

/**
 * Throws `changed_since` if an admin decides on a key that is no longer as the page has shown it. Call it in the transaction
 * that stores the decision: while that waited for the write lock, an import may have changed the address that the secret
 * goes to.
 */
export function refuseUnlikeShown(reader: Reader, identifier: string, by: Actor): void {
  if (by.kind !== 'admin' || by.shown === undefined) return;
  if (shownState(reader, identifier) !== by.shown) throw new AppError('changed_since');
}
