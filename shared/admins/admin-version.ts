import { eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { admins } from '../db/schema/people.ts';
import { listPasskeys } from '../passkeys/passkeys.ts';
import { type Facts, refuseOtherVersion, type ShownVersion, versionOf } from '../shown-version.ts';

/**
 * The facts about an admin that an operator is shown: the admin's identity, since another admin may get the name, and
 * the passkeys.
 */
function factsOfAdmin(db: Db | Tx, name: string): Facts {
  const admin = db.select().from(admins).where(eq(admins.name, name)).get();
  if (admin === undefined) return { admin: [null, 'the admin was removed'] };
  const held = listPasskeys(db, name).map(({ id }) => id);
  return {
    admin: [admin.id, 'the admin was removed, and another one added under this name'],
    access: [[admin.generation, held], 'an invitation or a passkey was added or ended'],
  };
}

/** The stored version of the admin of this name. */
export function shownAdmin(db: Db | Tx, name: string): ShownVersion {
  return versionOf(factsOfAdmin(db, name));
}

/** Throws `changed_since` if the admin no longer matches the version that the operator was shown. */
export function refuseUnlikeAdmin(tx: Tx, name: string, by: Actor): void {
  if (by.kind === 'operator') refuseOtherVersion(by.shown, `Admin ${name}`, () => factsOfAdmin(tx, name));
}
