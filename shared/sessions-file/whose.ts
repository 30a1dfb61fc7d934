import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core';

/**
 * The facts that every sign-in of an owner is bound to, compared at each use: the profile, its row (which gets another
 * generation after an erasure, even if the id is reused) and its e-mail address. `addressHash` is the SHA-256 of the
 * address in its form for comparison and of the number of its changes, so that a former address has another hash when
 * it is restored. A new username changes none of them.
 */
export type Binding = { profileId: number; generation: number; addressHash: Buffer };

/**
 * The person of a ticket or a sign-in: an owner or an admin. `openedBy` is the identifier of the backend's token that
 * handed the owner over, null for an owner who entered a code.
 */
export type Signed = Owner | SignedAdmin;

/** An owner in a {@link Signed}. */
export type Owner = { kind: 'owner'; openedBy: string | null } & Binding;

/** An admin, by name and by the generation that all of the admin's sign-ins are bound to. */
export type SignedAdmin = { kind: 'admin'; name: string; generation: number };

/** The columns for the person of a row. */
export type WhoseColumns = {
  profileId: number | null;
  addressHash: Buffer | null;
  admin: string | null;
  generation: number;
  openedBy: string | null;
};

/** A table that has these columns. */
export type Owned = { [Name in keyof WhoseColumns]: AnySQLiteColumn };

/** The values of these columns for a person. */
export function columnsOf(signed: Signed): WhoseColumns {
  const { generation } = signed;
  if (signed.kind === 'admin') {
    return { profileId: null, addressHash: null, admin: signed.name, generation, openedBy: null };
  }
  const { profileId, addressHash, openedBy } = signed;
  return { profileId, addressHash, admin: null, generation, openedBy };
}

/** The person of a row. */
export function signedOf({ profileId, addressHash, admin, generation, openedBy }: WhoseColumns): Signed {
  if (admin !== null) return { kind: 'admin', name: admin, generation };
  if (profileId === null || addressHash === null) throw new Error('a row of the sessions file belongs to nobody');
  return { kind: 'owner', profileId, addressHash, generation, openedBy };
}

/** A condition: rows of this person with the same binding. */
export function isTheirs(table: Owned, signed: Signed): SQL {
  const isSame = eq(table.generation, signed.generation);
  const isBound = signed.kind === 'admin' ? isSame : and(isSame, eq(table.addressHash, signed.addressHash));
  return sql`(${isAnyOf(table, signed)} AND ${isBound})`;
}

/** A condition: all rows of this profile or admin, whatever their binding. */
export function isAnyOf(table: Owned, signed: Signed): SQL {
  return signed.kind === 'admin' ? eq(table.admin, signed.name) : eq(table.profileId, signed.profileId);
}
