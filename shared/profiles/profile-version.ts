import { eq, sql } from 'drizzle-orm';
import type { Actor, Person } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { profiles } from '../db/schema/profiles.ts';
import { AppError } from '../errors.ts';
import { foldAddress } from '../mail/address.ts';
import { changesSince, type Facts, refuseOtherVersion, type ShownVersion, versionOf } from '../shown-version.ts';

const rowById = keepQuery((db) =>
  db
    .select({
      generation: profiles.generation,
      username: profiles.username,
      email: profiles.email,
      addressChanges: profiles.addressChanges,
    })
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('id')))
    .prepare(),
);

/**
 * The facts of a profile, by its id (null for an erased one): its row, because another profile may get the id after an
 * erasure, and what else was shown of it. Each change of the address counts, even if it is changed back.
 */
export function factsOfProfile(db: Db | Tx, id: number | null, also: readonly ('username' | 'address')[]): Facts {
  const row = id === null ? undefined : rowById(db).get({ id });
  if (row === undefined) return { profile: [null, 'the profile was erased'] };
  const { generation, username, email, addressChanges } = row;
  return {
    profile: [[id, generation], 'the profile was erased, and its UID given to another one'],
    ...(also.includes('username') && { username: [username, `the username is ${username} now`] }),
    ...(also.includes('address') && {
      address: [[foldAddress(email ?? ''), addressChanges], 'the e-mail address of the profile was changed'],
    }),
  };
}

/** The version of a profile, by its id, that was shown with its username. */
export function shownProfile(db: Db | Tx, id: number): ShownVersion {
  return versionOf(factsOfProfile(db, id, ['username']));
}

/** The same person; an owner with the version of the profile to which their sign-in is bound from now on. */
export function withShown<P extends Person>(db: Db | Tx, person: P): P {
  return person.kind === 'owner' ? { ...person, shown: versionOf(factsOfOwner(db, person.profileId)) } : person;
}

/** What an owner's sign-in is bound to. A new username doesn't end it. */
function factsOfOwner(db: Db | Tx, profileId: number): Facts {
  return factsOfProfile(db, profileId, ['address']);
}

/**
 * Throws if a profile, given by its id, has changed since the person started: `changed_since` if an operator was shown
 * something else, `signed_out` if that has ended the owner's sign-in. Call it in the transaction that writes: while that
 * waited for the write lock, an import may have changed the profile.
 */
export function refuseUnlikeProfile(db: Db | Tx, id: number, by: Actor): void {
  if (by.kind === 'owner') refuseSignedOut(db, by);
  else if (by.kind === 'operator') {
    refuseOtherVersion(by.shown, `The profile with the UID ${id}`, () => factsOfProfile(db, id, ['username']));
  }
}

/** Throws `signed_out` if the profile no longer matches the version to which the owner's sign-in is bound. */
export function refuseSignedOut(db: Db | Tx, { profileId, shown }: Extract<Actor, { kind: 'owner' }>): void {
  const changes = shown === undefined ? null : changesSince(shown, factsOfOwner(db, profileId));
  if (changes === null) return;
  throw new AppError('signed_out', `You are not signed in any more, since ${changes.join(', ')}; nothing was done.`);
}
