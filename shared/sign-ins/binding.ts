import { eq, sql } from 'drizzle-orm';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { profiles } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';
import { foldAddress } from '../mail/address.ts';
import { hashOf, isSameHash } from '../sessions-file/tokens.ts';
import type { Binding, Signed } from '../sessions-file/whose.ts';

/** The columns of a profile's row that a binding is made of. */
export const BOUND_COLUMNS = {
  id: profiles.id,
  generation: profiles.generation,
  email: profiles.email,
  addressChanges: profiles.addressChanges,
};

/** The values of these columns. */
export type BoundColumns = Pick<typeof profiles.$inferSelect, keyof typeof BOUND_COLUMNS>;

const boundById = keepQuery((db) =>
  db
    .select(BOUND_COLUMNS)
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('id')))
    .prepare(),
);

/** What a sign-in to the profile with this row is bound to. */
export function bindingOf({ id, generation, email, addressChanges }: BoundColumns): Binding {
  return { profileId: id, generation, addressHash: hashOf(foldAddress(email ?? ''), String(addressChanges)) };
}

/** What a sign-in to this profile would be bound to now; null if there is no such profile. */
export function readBinding(db: Opened, profileId: number): Binding | null {
  const row = guardDatabase(db.$client.filename, () => boundById(withTables(db)).get({ id: profileId }));
  return row === undefined ? null : bindingOf(row);
}

/** Whether the profile still is the one to which a sign-in was bound. */
export function isStillBound(db: Opened, bound: Binding): boolean {
  const now = readBinding(db, bound.profileId);
  return now !== null && isSameBinding(now, bound);
}

/** Whether two bindings have the same profile, row and address. */
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
