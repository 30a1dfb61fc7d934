import type { Actor } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { AppError, changedSince } from '../errors.ts';
import { foldAddress } from '../mail/address.ts';
import { type ProfileRow, readProfileRow } from './find.ts';

/** The revision of a profile as it is shown, with which an operator's confirmation is compared; `erased` if it is gone. */
export function profileRevision(db: Db | Tx, id: number | null): string {
  const row = id === null ? undefined : readProfileRow(db, id);
  return row === undefined ? 'erased' : String(row.revision);
}

/** The version of a profile to which its owner's sign-in is bound. A new username doesn't change it. */
export function ownerVersion({ id, generation, email, addressChanges }: ProfileRow): string {
  return hashOf([id, generation, foldAddress(email ?? ''), addressChanges]);
}

function hashOf(facts: readonly unknown[]): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, 16);
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

/** Throws `signed_out` if the profile no longer matches the version to which the owner's sign-in is bound. */
export function refuseSignedOut(db: Db | Tx, { profileId, signedIn }: Extract<Actor, { kind: 'owner' }>): void {
  if (signedIn === undefined) return;
  const row = readProfileRow(db, profileId);
  if (row === undefined || ownerVersion(row) !== signedIn) {
    throw new AppError(
      'signed_out',
      'You are no longer signed in, because your profile was changed; nothing was done.',
    );
  }
}
