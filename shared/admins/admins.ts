import { asc, eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { isoTime } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { admins, passkeys } from '../db/schema/people.ts';
import { write } from '../db/write.ts';
import { AppError } from '../errors.ts';
import { addEvent } from '../events.ts';
import { type Invitation, invite, invitedUntil } from '../passkeys/enrolments.ts';
import { newGeneration } from '../passkeys/generation.ts';
import { type Admin, listPasskeys, type Passkey } from '../passkeys/passkeys.ts';
import { relyingPartyOf } from '../passkeys/relying-party.ts';
import { foldName, nameFault } from '../profiles/name.ts';
import type { Access } from '../sessions-file/access.ts';
import { refuseUnlikeAdmin } from './admin-version.ts';

// Admins of the Developer Platform, whom the operator adds and removes. Functions throw `refused` with a sentence if
// something can't be done.

/** A passkey as it is shown to operators and to its admin; times are ISO 8601 in UTC. */
export type PasskeyView = {
  id: number;
  name: string;
  registeredAt: string;
  /** The client's IP address. */
  registeredFrom: string;
  /** The browser's user agent. */
  registeredBy: string;
  lastUsedAt: string | null;
};

/** An admin as operators see it. */
export type AdminView = {
  name: string;
  state: 'registered' | 'invited' | 'without passkey';
  addedAt: string;
  /** When the admin's unused invitation expires; null without one. */
  invitedUntil: string | null;
  passkeys: PasskeyView[];
};

/**
 * Adds an admin and makes the URL for registering a passkey. Throws `usage` for an invalid name, and `refused` if the
 * name is in use, or if browsers don't support passkeys for PUBLIC_URL.
 */
export function addAdmin(access: Access, name: string, by: Actor): Invitation {
  relyingPartyOf(access.config.publicUrl);
  const fault = nameFault(name);
  if (fault !== null) throw new AppError('usage', `The name of an admin ${fault}.`);
  if (lookUp(access.db, name) !== undefined) throw alreadyExists(name);
  const generation = newGeneration(access.random);
  // The URL is made first: without the admin it is useless.
  const invitation = invite(access, name, generation);
  write(access.db, (tx) => {
    if (lookUp(tx, name) !== undefined) throw alreadyExists(name);
    const atMs = access.clock.nowMs();
    const userHandle = Buffer.from(access.random(32));
    tx.insert(admins)
      .values({ name, folded: foldName(name), generation, userHandle, addedAt: atMs })
      .run();
    addEvent(tx, { by, atMs }, { subject: 'admin', event: 'added', about: name });
  });
  return invitation;
}

/**
 * Ends an admin's sessions, tokens and older URLs, removes their passkeys unless `keepPasskeys`, and makes a new URL. Returns how many passkeys were removed. Throws `changed_since` if the admin no
 * longer matches the version that `by` was shown.
 */
export function inviteAdmin(
  access: Access,
  name: string,
  { keepPasskeys }: { keepPasskeys: boolean },
  by: Actor,
): Invitation & { endedPasskeys: number } {
  relyingPartyOf(access.config.publicUrl);
  const generation = newGeneration(access.random);
  const { name: stored } = findAdmin(access.db, name);
  const invitation = invite(access, stored, generation);
  const endedPasskeys = write(access.db, (tx) => {
    refuseUnlikeAdmin(tx, stored, by);
    const admin = findAdmin(tx, name);
    const theirs = tx.delete(passkeys).where(eq(passkeys.adminId, admin.id));
    const ended = keepPasskeys ? 0 : theirs.returning({ id: passkeys.id }).all().length;
    tx.update(admins).set({ generation }).where(eq(admins.id, admin.id)).run();
    const detail = { endedPasskeys: ended };
    const atMs = access.clock.nowMs();
    addEvent(tx, { by, atMs }, { subject: 'admin', event: 'invited', about: admin.name, data: detail });
    return ended;
  });
  return { ...invitation, endedPasskeys };
}

/**
 * Removes an admin with passkeys, sessions and URLs. Returns how many passkeys were removed. Throws `changed_since` as
 * above.
 */
export function removeAdmin(access: Access, name: string, by: Actor): { endedPasskeys: number } {
  const { name: stored } = findAdmin(access.db, name);
  return write(access.db, (tx) => {
    refuseUnlikeAdmin(tx, stored, by);
    const admin = findAdmin(tx, name);
    const ended = tx.delete(passkeys).where(eq(passkeys.adminId, admin.id)).returning({ id: passkeys.id }).all().length;
    tx.delete(admins).where(eq(admins.id, admin.id)).run();
    const detail = { endedPasskeys: ended };
    const atMs = access.clock.nowMs();
    addEvent(tx, { by, atMs }, { subject: 'admin', event: 'removed', about: admin.name, data: detail });
    return { endedPasskeys: ended };
  });
}

/** All admins, oldest first. */
export function listAdmins(access: Access): AdminView[] {
  const rows = access.db.select().from(admins).orderBy(asc(admins.id)).all();
  return rows.map((admin) => {
    const views = listPasskeys(access.db, admin.name).map(viewOf);
    const until = invitedUntil(access, admin);
    return {
      name: admin.name,
      state: stateOf(views, until !== null),
      addedAt: isoTime(admin.addedAt),
      invitedUntil: until === null ? null : isoTime(until),
      passkeys: views,
    };
  });
}

/** Finds the admin with this name, in any spelling. Throws `not_found`. */
export function findAdmin(db: Db | Tx, name: string): Admin {
  const found = lookUp(db, name);
  if (found === undefined) throw new AppError('not_found', `There is no admin ${name}.`);
  return found;
}

/** Converts a stored passkey to the form that is shown. */
export function viewOf(passkey: Passkey): PasskeyView {
  const { id, name, registeredAt, registeredFrom, registeredBy, lastUsedAt } = passkey;
  return {
    id,
    name,
    registeredAt: isoTime(registeredAt),
    registeredFrom,
    registeredBy,
    lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
  };
}

function stateOf(views: readonly PasskeyView[], isInvited: boolean): AdminView['state'] {
  if (views.length > 0) return 'registered';
  return isInvited ? 'invited' : 'without passkey';
}

function lookUp(db: Db | Tx, name: string): Admin | undefined {
  return db
    .select()
    .from(admins)
    .where(eq(admins.folded, foldName(name)))
    .get();
}

function alreadyExists(name: string): AppError {
  return new AppError('refused', `There is already an admin ${name}; remove them first.`);
}
