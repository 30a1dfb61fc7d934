import type { Actor } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { changedSince } from '../errors.ts';
import { profileRevision } from '../profiles/profile-version.ts';
import { refuseSignedOut } from '../sign-in/sessions.ts';
import { readKey } from './record.ts';

// A decision applies only to what was shown. Each change of a key draws its revision anew (`addEvent`). Pages and commands show
// a key with it, send it back, and the transaction that writes compares.

/**
 * The revision of a key as it is shown: with those of its profile, to which the secret of a request would be mailed, and of the
 * key that a request replaces. Throws `not_found`.
 */
export function keyRevision(db: Db | Tx, identifier: string): string {
  const { revision, state, profileId, successorOf } = readKey(db, identifier);
  if (state !== 'pending') return revision;
  const replaced = successorOf === null ? [] : [readKey(db, successorOf).revision];
  return [revision, profileRevision(db, profileId), ...replaced].join('.');
}

/**
 * Throws `changed_since` if the key has changed since the person was shown it, and `signed_out` if the sign-in of an owner or
 * admin has ended. Call it in the transaction that stores the decision: while that waited for the write lock, an import may
 * have changed the e-mail address.
 */
export function refuseUnlikeKey(db: Db | Tx, identifier: string, by: Actor): void {
  if (by.kind === 'admin' || by.kind === 'owner') refuseSignedOut(db, by);
  if (by.kind === 'service' || by.shown === undefined) return;
  if (by.shown !== keyRevision(db, identifier)) throw changedSince(`Key ${identifier}`);
}
