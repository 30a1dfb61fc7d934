import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { foldAddress } from '../mail/address.ts';
import { hashOf, isSameHash } from './tokens.ts';

/**
 * What every sign-in of an owner is bound to, compared at each use: the profile, its row (another generation after an
 * erasure, also where the id came back) and its address. `addressHash` is the SHA-256 of the address as addresses are compared
 * and of how often it has changed, so that a former address that comes back has another one. A new username changes none
 * of them.
 */
export type Binding = { profileId: number; generation: number; addressHash: Uint8Array };

/** The columns of a profile's row that a binding is made of. */
export type BoundColumns = { id: number; generation: number; email: string | null; addressChanges: number };

/** The names of these columns, for a statement. */
export const BOUND_COLUMNS = 'profiles.id, generation, email, address_changes AS addressChanges';

/** What a sign-in is bound to whose profile has this row. */
export function bindingOf({ id, generation, email, addressChanges }: BoundColumns): Binding {
  return { profileId: id, generation, addressHash: hashOf(foldAddress(email ?? ''), String(addressChanges)) };
}

/** What a sign-in of this profile would be bound to now; null where there is no such profile. Throws `busy`. */
export function readBinding(db: Opened, profileId: number): Binding | null {
  const row = guardDatabase(db.$client.filename, () =>
    db.$client.query<BoundColumns, [number]>(`SELECT ${BOUND_COLUMNS} FROM profiles WHERE id = ?`).get(profileId),
  );
  return row === null ? null : bindingOf(row);
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
