import type { Actor } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { changedSince } from '../errors.ts';
import { refuseSignedOut } from '../sign-in/sessions.ts';
import { readProfileRow } from './find.ts';

/** The revision of a profile as it is shown, with which an operator's confirmation is compared; `erased` if it is gone. */
export function profileRevision(db: Db | Tx, id: number | null): string {
  const row = id === null ? undefined : readProfileRow(db, id);
  return row === undefined ? 'erased' : String(row.revision);
}

/**
 * Throws if a profile has changed since the person started: `changed_since` if it differs from what an operator was
 * shown, `signed_out` if that has ended the owner's sign-in. Call it in the transaction that writes: while that waited
 * for the write lock, an import may have changed the profile.
 */
export function refuseUnlikeProfile(db: Db | Tx, id: number, by: Actor): void {
  if (by.kind === 'owner') refuseSignedOut(db, by);
  else if (by.kind === 'operator' && by.shown !== undefined && by.shown !== profileRevision(db, id)) {
    throw changedSince(`The profile with the UID ${id}`);
  }
}
