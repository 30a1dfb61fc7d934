import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core';

/**
 * What every sign-in of an owner is bound to, compared at each use: the profile, its row (another generation after an
 * erasure, also where the id came back) and its address. `addressHash` is the SHA-256 of the address as addresses are compared
 * and of how often it has changed, so that a former address that comes back has another one. A new username changes none
 * of them.
 */
export type Binding = { profileId: number; generation: number; addressHash: Buffer };

/**
 * Whose a ticket or a sign-in is: an owner's, as long as the profile is the same, or an admin's. `openedBy` is the identifier of
 * the platform's token by which this owner was handed over, and null for one who has entered a code.
 */
export type Signed = Owner | SignedAdmin;

/** An owner, as {@link Signed} says. */
export type Owner = { kind: 'owner'; openedBy: string | null } & Binding;

/** An admin, by the name and the generation that all of the admin's sign-ins are bound to. */
export type SignedAdmin = { kind: 'admin'; name: string; generation: number };

/** The columns that say whose a row is. */
export type WhoseColumns = {
  profileId: number | null;
  addressHash: Buffer | null;
  admin: string | null;
  generation: number;
  openedBy: string | null;
};

/** A table that has these columns. */
export type Owned = { [Name in keyof WhoseColumns]: AnySQLiteColumn };

/** What the columns hold. */
export function columnsOf(signed: Signed): WhoseColumns {
  const { generation } = signed;
  if (signed.kind === 'admin') {
    return { profileId: null, addressHash: null, admin: signed.name, generation, openedBy: null };
  }
  const { profileId, addressHash, openedBy } = signed;
  return { profileId, addressHash, admin: null, generation, openedBy };
}

/** Whose a row is. */
export function signedOf({ profileId, addressHash, admin, generation, openedBy }: WhoseColumns): Signed {
  if (admin !== null) return { kind: 'admin', name: admin, generation };
  if (profileId === null || addressHash === null) throw new Error('a row of the sessions file is nobody’s');
  return { kind: 'owner', profileId, addressHash, generation, openedBy };
}

/** The rows of a table that are this person's, as far as they are bound to what the person is bound to. */
export function isTheirs(table: Owned, signed: Signed): SQL {
  const isSame = eq(table.generation, signed.generation);
  const isBound = signed.kind === 'admin' ? isSame : and(isSame, eq(table.addressHash, signed.addressHash));
  return sql`(${isAnyOf(table, signed)} AND ${isBound})`;
}

/** All rows of this profile or admin, whatever they are bound to. */
export function isAnyOf(table: Owned, signed: Signed): SQL {
  return signed.kind === 'admin' ? eq(table.admin, signed.name) : eq(table.profileId, signed.profileId);
}
