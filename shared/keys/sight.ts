import type { Person } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import { findProfile, noSuchProfile } from '../profiles/find.ts';
import { readKey } from './record.ts';

/** Throws `not_found` if a key or the profile of the input does not exist, or does not belong to the owner who acts. */
export function checkSight(
  db: Db,
  actor: Person,
  about: { identifier?: unknown; successorOf?: unknown; profile?: unknown; profileId?: unknown },
): void {
  const ownId = actor.kind === 'owner' ? actor.profileId : undefined;
  const isOthers = (profileId: number) => ownId !== undefined && profileId !== ownId;
  // An empty `successorOf` means none, as in `FIELDS`.
  for (const identifier of [about.identifier, about.successorOf || null]) {
    if (typeof identifier === 'string') readKey(db, identifier, ownId);
  }
  if (typeof about.profileId === 'number') {
    if (isOthers(about.profileId)) throw noSuchProfile();
  } else if (typeof about.profile === 'string' && isOthers(findProfile(db, about.profile).id)) throw noSuchProfile();
}
