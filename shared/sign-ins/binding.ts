import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { withTables } from '../db/tables.ts';
import { foldAddress } from '../mail/address.ts';
import { type ProfileRow, readProfileRow } from '../profiles/find.ts';
import { hashOf, isSameHash } from '../sessions-file/tokens.ts';
import type { Binding, Signed } from '../sessions-file/whose.ts';

/** The binding of a sign-in to the profile with this row. */
export function bindingOf({ id, generation, email, addressChanges }: Omit<ProfileRow, 'username' | 'banned'>): Binding {
  return { profileId: id, generation, addressHash: hashOf(foldAddress(email ?? ''), String(addressChanges)) };
}

/** Reads the row of a profile that a sign-in may be bound to. */
export function readBoundRow(db: Opened, profileId: number): ProfileRow | undefined {
  return guardDatabase(db.$client.filename, () => readProfileRow(withTables(db), profileId));
}

/** The binding of a sign-in made now to this profile; null if there is no such profile. */
export function readBinding(db: Opened, profileId: number): Binding | null {
  const row = readBoundRow(db, profileId);
  return row === undefined ? null : bindingOf(row);
}

/** Whether the profile is still the one to which a sign-in was bound. */
export function isStillBound(db: Opened, bound: Binding): boolean {
  const now = readBinding(db, bound.profileId);
  return now !== null && isSameBinding(now, bound);
}

/** Whether two bindings have the same profile, row and e-mail address. */
export function isSameBinding(one: Binding, other: Binding): boolean {
  return (
    one.profileId === other.profileId &&
    one.generation === other.generation &&
    isSameHash(one.addressHash, other.addressHash)
  );
}

/** The identity of an owner for a new sign-in; null if there is no such profile. */
export function ownerToSign({ db }: { db: Opened }, profileId: number): Signed | null {
  const binding = readBinding(db, profileId);
  return binding === null ? null : { kind: 'owner', ...binding, openedBy: null };
}
