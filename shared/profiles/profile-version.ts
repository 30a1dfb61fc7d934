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
 * The facts of a profile, given by its id: which row it is, since another one may get the id after an erasure, and what else
 * was shown of it. The address counts as another one each time that it changes. Null stands for an erased profile.
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

/** The state of a profile that was shown by its username, given by its id. */
export function shownProfile(db: Db | Tx, id: number): ShownVersion {
  return versionOf(factsOfProfile(db, id, ['username']));
}

/** The same person; an owner as somebody who is signed in while the profile is as it is now. */
export function withShown<Somebody extends Person>(db: Db | Tx, person: Somebody): Somebody {
  return person.kind === 'owner' ? { ...person, shown: versionOf(factsOfOwner(db, person.profileId)) } : person;
}

/** What a sign-in of an owner is bound to; a new username ends none. */
function factsOfOwner(db: Db | Tx, profileId: number): Facts {
  return factsOfProfile(db, profileId, ['address']);
}

/**
 * Throws unless a profile, given by its id, is as it was when somebody began to do something with it: `changed_since` for what
 * an operator was shown, `signed_out` where an owner's sign-in has ended meanwhile. Call it in the transaction that stores
 * what they do: while that waited for the write lock, an import may have changed the profile.
 */
export function refuseUnlikeProfile(db: Db | Tx, id: number, by: Actor): void {
  if (by.kind === 'owner') refuseSignedOut(db, by);
  else if (by.kind === 'operator') {
    refuseOtherVersion(by.shown, `The profile with the UID ${id}`, () => factsOfProfile(db, id, ['username']));
  }
}

/** Throws `signed_out` where the profile is not any more as the owner's sign-in was bound to it. */
export function refuseSignedOut(db: Db | Tx, { profileId, shown }: Extract<Actor, { kind: 'owner' }>): void {
  const changes = shown === undefined ? null : changesSince(shown, factsOfOwner(db, profileId));
  if (changes === null) return;
  throw new AppError('signed_out', `You are not signed in any more, since ${changes.join(', ')}; nothing was done.`);
}
