import { eq } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import { profileNames, profiles } from '../db/schema/profiles.ts';
import { AppError } from '../errors.ts';
import { checkedFold } from './name.ts';

/** The id and the username of a profile that was found by a name. */
export type ProfileRef = { id: number; username: string };

/** Finds the profile with this username or alias, compared in folded form. Throws `not_found`. */
export function findProfile(db: Db | Tx, username: string): ProfileRef {
  const folded = checkedFold(username);
  const found =
    folded === null
      ? undefined
      : db
          .select({ id: profiles.id, username: profiles.username })
          .from(profileNames)
          .innerJoin(profiles, eq(profiles.id, profileNames.profileId))
          .where(eq(profileNames.folded, folded))
          .get();
  if (found === undefined) throw new AppError('not_found', 'There is no profile with this username or alias.');
  return found;
}

/** The profile with this id, which was found before. Throws `not_found`: it was erased since. */
export function readProfile(db: Db | Tx, id: number): ProfileRef {
  const { username } = profiles;
  const found = db.select({ id: profiles.id, username }).from(profiles).where(eq(profiles.id, id)).get();
  if (found === undefined) throw new AppError('not_found', `The profile with the UID ${id} was erased.`);
  return found;
}
