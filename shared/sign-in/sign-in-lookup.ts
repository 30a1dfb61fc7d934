import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { withTables } from '../db/tables.ts';
import { foldAddress, isMailAddress, isSameAddress } from '../mail/address.ts';
import { type ProfileRow, readRowByName } from '../profiles/find.ts';
import { checkedFold, foldName } from '../profiles/name.ts';
import type { Binding } from '../sessions-file/whose.ts';
import { bindingOf } from '../sign-ins/binding.ts';

/** The texts that a person typed to sign in: a username or alias, and an e-mail address. */
export type Typed = { name: string; address: string };

/** The typed texts, and the profile found. */
export type Claim = {
  /** The e-mail address, folded for comparison. */
  address: string;
  /** The id of the profile with this name, whatever the address; null if there is none. */
  profileId: number | null;
  /** The name, folded for comparison. */
  folded: string;
  /**
   * The binding of a sign-in to the profile, whatever the address; {@link NOBODY} if there is no profile with this
   * name.
   */
  binding: Binding;
  /** The recipient of the code: the address on file, if name and address match; otherwise null. */
  mailTo: { address: string; username: string } | null;
};

/** Longer texts are cut; names and addresses are shorter. */
const MAX_TYPED = 400;

const NO_ROW: ProfileRow = {
  id: 0,
  username: '',
  banned: false,
  revision: 0,
  generation: 0,
  email: null,
  addressChanges: 0,
};

/** The binding of a code that nobody can use: no profile has the id 0. */
export const NOBODY: Binding = bindingOf(NO_ROW);

/**
 * Looks the profile up. The same statement runs whether or not the profile exists and the address matches. Banned
 * profiles are found too.
 */
export function readClaim(db: Opened, typed: Typed): Claim {
  const name = typed.name.slice(0, MAX_TYPED).trim();
  const address = foldAddress(typed.address.slice(0, MAX_TYPED).trim());
  // No profile has an empty name.
  const folded = checkedFold(name) ?? '';
  const row = guardDatabase(db.$client.filename, () => readRowByName(withTables(db), folded));
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
