import { eq, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { Actor } from '../actor.ts';
import type { SimplifiedProfile } from '../api/bodies.ts';
import { type Db, preparedOnce, type Tx } from '../db/connect.ts';
import { profileNames, profiles } from '../db/schema.ts';
import { AppError, changedSince } from '../errors.ts';
import { refuseSignedOut } from '../sign-in/sessions.ts';
import { checkedFold } from './name.ts';

const COLUMNS = {
  id: profiles.id,
  revision: profiles.revision,
  username: profiles.username,
  banned: profiles.banned,
  email: profiles.email,
};

/** The columns of a profile that keys, sign-ins and versions depend on. The e-mail address is private. */
export type ProfileRow = Pick<typeof profiles.$inferSelect, keyof typeof COLUMNS>;

const profileById = preparedOnce((db) =>
  db
    .select(COLUMNS)
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('id')))
    .prepare(),
);

/** Reads a profile by its id; undefined if there is none. */
export function readProfileRow(db: Db | Tx, id: number): ProfileRow | undefined {
  return profileById(db).get({ id });
}

/** Reads the profile with this folded name. The same statement runs for the empty name, which no profile has. */
export function readRowByName(db: Db | Tx, folded: string): ProfileRow | undefined {
  return db
    .select(COLUMNS)
    .from(profileNames)
    .innerJoin(profiles, eq(profiles.id, profileNames.profileId))
    .where(eq(profileNames.folded, folded))
    .get();
}

/** The refusal if no profile has a name, or the person may not see the profile. */
export function noSuchProfile(): AppError {
  return new AppError('not_found', 'There is no profile with this username or alias.');
}

/** Finds the profile with this username or alias, compared in folded form. Throws `not_found`. */
export function findProfile(db: Db | Tx, username: string): ProfileRow {
  const found = readRowByName(db, checkedFold(username) ?? '');
  if (found === undefined) throw noSuchProfile();
  return found;
}

/** Reads the profile with this id, which existed before. Throws `not_found` if it has been erased. */
export function readProfile(db: Db | Tx, id: number): ProfileRow {
  const found = readProfileRow(db, id);
  if (found === undefined) throw new AppError('not_found', `The profile with the UID ${id} was erased.`);
  return found;
}

/** What everybody can look up of a profile, as far as admins decide by it, and how many links it has; null if there is none. */
export function publicProfile(db: Db, id: number): (z.infer<typeof SimplifiedProfile> & { links: number }) | null {
  const row = db.$client.query('SELECT profile, links FROM profiles WHERE id = ?').get(id) as {
    profile: string;
    links: string;
  } | null;
  return row === null ? null : { ...JSON.parse(row.profile), links: JSON.parse(row.links).links.length };
}

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
