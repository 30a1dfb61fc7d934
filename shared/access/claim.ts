import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { isMailAddress } from '../mail/address.ts';
import { checkedFold, foldName } from '../profiles/name.ts';
import type { Binding } from './binding.ts';
import { hashOf } from './tokens.ts';

/** What somebody typed who wants to sign in: a username or alias, and an e-mail address. */
export type Typed = { name: string; address: string };

/** What was typed, and what it leads to. */
export type Claim = {
  /** The address in ASCII small letters, which is how addresses are compared. */
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

/** What a code is bound to that nobody can use: no profile has the id 0. */
export const NOBODY: Binding = { profileId: 0, generation: 0, addressHash: hashOf('') };

/** No name and no address is longer; what stands behind is not looked at. */
const MAX_TYPED = 400;

type Row = { id: number; username: string; generation: number; email: string | null };

const NO_ROW: Row = { id: NOBODY.profileId, username: '', generation: NOBODY.generation, email: null };

/**
 * Finds out what was typed. The same statement is run whether or not there is such a profile and the address is its own; a
 * banned profile is found too. Throws `busy`.
 */
export function readClaim(db: Opened, typed: Typed): Claim {
  const name = typed.name.slice(0, MAX_TYPED).trim();
  const address = inSmallLetters(typed.address.slice(0, MAX_TYPED).trim());
  const row = guardDatabase(db.$client.filename, () =>
    db.$client
      .query<Row, [string]>(
        `SELECT profiles.id, profiles.username, generation, email FROM profile_names
           JOIN profiles ON profiles.id = profile_id WHERE folded = ?`,
      )
      // No profile has an empty name.
      .get(checkedFold(name) ?? ''),
  );
  const { id, username, generation, email } = row ?? NO_ROW;
  const isTheirs = email !== null && isMailAddress(email) && inSmallLetters(email) === address;
  return {
    address,
    profileId: row === null ? null : id,
    folded: foldName(name),
    binding: { profileId: id, generation, addressHash: hashOf(email ?? '') },
    mailTo: isTheirs ? { address: email, username } : null,
  };
}

/** Lower-cases A to Z and nothing else. */
function inSmallLetters(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
