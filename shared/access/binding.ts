import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { hashOf, isSameHash } from './tokens.ts';

/**
 * What every sign-in of an owner is bound to, compared at each use: the profile, its row (another generation after an
 * erasure, also where the id came back) and the SHA-256 of its address. A new username changes none of them.
 */
export type Binding = { profileId: number; generation: number; addressHash: Uint8Array };

/** What a sign-in of this profile would be bound to now; null where there is no such profile. Throws `busy`. */
export function readBinding(db: Opened, profileId: number): Binding | null {
  const row = guardDatabase(db.$client.filename, () =>
    db.$client
      .query<{ generation: number; email: string | null }, [number]>(
        'SELECT generation, email FROM profiles WHERE id = ?',
      )
      .get(profileId),
  );
  return row === null ? null : { profileId, generation: row.generation, addressHash: hashOf(row.email ?? '') };
}

/** Whether the profile is still the one that a sign-in was bound to. Throws `busy`. */
export function isStillBound(db: Opened, bound: Binding): boolean {
  const now = readBinding(db, bound.profileId);
  return now !== null && isSameBinding(now, bound);
}

/** Whether two bindings are of the same profile, row and address. */
export function isSameBinding(one: Binding, other: Binding): boolean {
  return (
    one.profileId === other.profileId &&
    one.generation === other.generation &&
    isSameHash(one.addressHash, other.addressHash)
  );
}
