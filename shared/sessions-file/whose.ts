import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core';

/**
 * What every sign-in of an owner is bound to, compared at each use: the profile, its row (another generation after an
 * erasure, even if the id is reused) and its address. `addressHash` is the SHA-256 of the address in its form for
 * comparison and of the number of its changes, so that a former address gets another hash when it is restored. A new
 * username changes none of them.
 */
export type Binding = { profileId: number; generation: number; addressHash: Buffer };

/**
 * The person of a ticket or a sign-in: an owner, while the profile is the same, or an admin. `openedBy` is the
 * identifier of the backend's token that handed this owner over, null for one who entered a code.
 */
export type Signed = Owner | SignedAdmin;

/** An owner, as {@link Signed} says. */
export type Owner = { kind: 'owner'; openedBy: string | null } & Binding;

/** An admin, by the name and the generation that all of the admin's sign-ins are bound to. */
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

/** The values of the columns. */
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
  if (profileId === null || addressHash === null) throw new Error('a row of the sessions file is nobody’s');
  return { kind: 'owner', profileId, addressHash, generation, openedBy };
}

/** The rows of a table that belong to this person and have the same binding. */
export function isTheirs(table: Owned, signed: Signed): SQL {
  const isSame = eq(table.generation, signed.generation);
  const isBound = signed.kind === 'admin' ? isSame : and(isSame, eq(table.addressHash, signed.addressHash));
  return sql`(${isAnyOf(table, signed)} AND ${isBound})`;
}

/** All rows of this profile or admin, whatever their binding. */
export function isAnyOf(table: Owned, signed: Signed): SQL {
  return signed.kind === 'admin' ? eq(table.admin, signed.name) : eq(table.profileId, signed.profileId);
}
