import type { Actor } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import { foldAddress } from '../mail/address.ts';
import { changesSince, type Facts, refuseOtherVersion, type ShownVersion, versionOf } from '../shown-version.ts';
import { type ProfileRow, readProfileRow } from './find.ts';

/**
 * The facts about a profile, from its row (undefined if it is erased): its generation, because another profile may get
 * the id after an erasure, and the shown facts in `also`. Each change of the e-mail address counts, even if it is
 * changed back.
 */
function factsOfRow(row: ProfileRow | undefined, also: readonly ('username' | 'address')[]): Facts {
  if (row === undefined) return { profile: [null, 'the profile was erased'] };
  const { id, generation, username, email, addressChanges } = row;
  return {
    profile: [[id, generation], 'the profile was erased, and its UID was given to another one'],
    ...(also.includes('username') && { username: [username, `the username is now ${username}`] }),
    ...(also.includes('address') && {
      address: [[foldAddress(email ?? ''), addressChanges], 'the e-mail address of the profile was changed'],
    }),
  };
}

/** The facts about a profile by its id, null if it is erased. */
export function factsOfProfile(db: Db | Tx, id: number | null, also: readonly ('username' | 'address')[]): Facts {
  return factsOfRow(id === null ? undefined : readProfileRow(db, id), also);
}

/** The version of a profile that was shown with its username. */
export function shownProfile(db: Db | Tx, id: number): ShownVersion {
  return versionOf(factsOfProfile(db, id, ['username']));
}

/** The version of a profile to which its owner's sign-in is bound. A new username doesn't change it. */
export function ownerVersion(row: ProfileRow): ShownVersion {
  return versionOf(factsOfRow(row, ['address']));
}

/**
 * Throws if a profile has changed since the person started: `changed_since` if it differs from what an operator was
 * shown, `signed_out` if that has ended the owner's sign-in. Call it in the transaction that writes: while that waited
 * for the write lock, an import may have changed the profile.
 */
export function refuseUnlikeProfile(db: Db | Tx, id: number, by: Actor): void {
  if (by.kind === 'owner') refuseSignedOut(db, by);
  else if (by.kind === 'operator') {
    refuseOtherVersion(by.shown, `The profile with the UID ${id}`, () => factsOfProfile(db, id, ['username']));
  }
}

/** Throws `signed_out` if the profile no longer matches the version to which the owner's sign-in is bound. */
export function refuseSignedOut(db: Db | Tx, { profileId, shown }: Extract<Actor, { kind: 'owner' }>): void {
  const changes = shown === undefined ? null : changesSince(shown, factsOfProfile(db, profileId, ['address']));
  if (changes === null) return;
  throw new AppError('signed_out', `You are no longer signed in, because ${changes.join(', ')}; nothing was done.`);
}
