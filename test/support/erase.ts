import type { Actor } from '../../shared/actor.ts';
import type { Deps } from '../../shared/deps.ts';
import { eraseProfile as eraseById } from '../../shared/erasure/erase-profile.ts';
import { findProfile } from '../../shared/profiles/find.ts';

/** Erases the profile with this name, as `profiles erase` does. */
export function eraseProfile(deps: Pick<Deps, 'db' | 'clock'>, username: string, by: Actor) {
  return eraseById(deps, findProfile(deps.db, username).id, by);
}
