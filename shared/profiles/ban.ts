import type { Actor } from '../actor.ts';
import { write } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { createApplier, type EffectsOnKeys, noRemarks } from './apply.ts';
import { exportProfile } from './export.ts';
import type { Profile } from './fields.ts';
import { readProfile } from './find.ts';
import { refuseUnlikeProfile } from './profile-version.ts';

/**
 * Bans a profile or lifts the ban, like a merging line of an import; `onKeys` handles its keys. Returns the profile. Throws
 * `not_found`, and `changed_since` if it is no longer the version that `by` was shown.
 */
export function setBanned(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id, banned, by, onKeys }: { id: number; banned: boolean; by: Actor; onKeys: EffectsOnKeys },
): Profile {
  const applier = createApplier(db.$client, { merge: true, onKeys, asOfMs: null, confirms: true });
  return write(db, (tx) => {
    refuseUnlikeProfile(tx, id, by);
    readProfile(tx, id);
    const outcome = applier.apply(tx, { id, fields: { id, banned }, dropped: [] }, clock.nowMs(), noRemarks());
    if (outcome !== 'imported') throw new AppError('internal', null, { cause: outcome });
    return exportProfile(db, { uid: id });
  });
}
