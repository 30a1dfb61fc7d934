import { eq, sql } from 'drizzle-orm';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { profileNames, profiles } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';
import { foldAddress, isMailAddress, isSameAddress } from '../mail/address.ts';
import { checkedFold, foldName } from '../profiles/name.ts';
import type { Binding } from '../sessions-file/whose.ts';
import { BOUND_COLUMNS, type BoundColumns, bindingOf } from '../sign-ins/binding.ts';

/** What somebody typed who wants to sign in: a username or alias, and an e-mail address. */
export type Typed = { name: string; address: string };

/** What was typed, and what it leads to. */
export type Claim = {
  /** The address in the form in which addresses are compared. */
  address: string;
  /** The profile that the name leads to, whatever the address is; null where there is none. */
  profileId: number | null;
  /** The name as names are compared. */
  folded: string;
  /** The profile as a sign-in is bound to it, whatever the address is; {@link NOBODY} where the name leads to none. */
  binding: Binding;
  /** Where the code goes: the stored address, where name and address belong together. Null where they don't. */
  mailTo: { address: string; username: string } | null;
};

/** No name and no address is longer; what stands behind is not looked at. */
const MAX_TYPED = 400;

type Row = BoundColumns & { username: string };

const NO_ROW: Row = { id: 0, username: '', generation: 0, email: null, addressChanges: 0 };

/** What a code is bound to that nobody can use: no profile has the id 0. */
export const NOBODY: Binding = bindingOf(NO_ROW);

const byName = keepQuery((db) =>
  db
    .select({ ...BOUND_COLUMNS, username: profiles.username })
    .from(profileNames)
    .innerJoin(profiles, eq(profiles.id, profileNames.profileId))
    .where(eq(profileNames.folded, sql.placeholder('folded')))
    .prepare(),
);

/**
 * Finds out what was typed. The same statement is run whether or not there is such a profile and the address is its own; a
 * banned profile is found too. Throws `busy`.
 */
export function readClaim(db: Opened, typed: Typed): Claim {
  const name = typed.name.slice(0, MAX_TYPED).trim();
  const address = foldAddress(typed.address.slice(0, MAX_TYPED).trim());
  // No profile has an empty name.
  const folded = checkedFold(name) ?? '';
  const row = guardDatabase(db.$client.filename, () => byName(withTables(db)).get({ folded }));
  const found = row ?? NO_ROW;
  const { username, email } = found;
  const isTheirs = email !== null && isMailAddress(email) && isSameAddress(email, address);
  return {
    address,
    profileId: row === undefined ? null : found.id,
    folded: foldName(name),
    binding: bindingOf(found),
    mailTo: isTheirs ? { address: email, username } : null,
  };
}
