import { asc, eq } from 'drizzle-orm';
import type { Actor } from './actor.ts';
import { isoTime } from './clock.ts';
import type { Db, Tx } from './db/connect.ts';
import { admins } from './db/schema.ts';
import { write } from './db/write.ts';
import type { Deps } from './deps.ts';
import { AppError } from './errors.ts';
import { addEvent } from './events.ts';
import { foldName, nameFault } from './profiles/name.ts';
import { type Admin, type Invitation, invite, listPasskeys, type Passkey } from './sign-in/passkeys.ts';
import { relyingPartyOf } from './sign-in/webauthn.ts';

// Admins of the Developer Platform, whom the operator adds and removes.

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
  /** When the admin's unused link expires; null without one. */
  invitedUntil: string | null;
  passkeys: PasskeyView[];
};

/**
 * Adds an admin and makes the link for registering a passkey. Throws `usage` for an invalid name, and `refused` if the
 * name is in use, or if browsers don't support passkeys for PUBLIC_URL.
 */
export function addAdmin(deps: Deps, name: string, by: Actor): Invitation {
  relyingPartyOf(deps.config.publicUrl);
  const fault = nameFault(name);
  if (fault !== null) throw new AppError('usage', `The name of an admin ${fault}.`);
  return write(deps.db, (tx) => {
    if (lookUp(tx, name) !== undefined) {
      throw new AppError('refused', `There is already an admin ${name}; remove them first.`);
    }
    const atMs = deps.clock.nowMs();
    const userHandle = Buffer.from(deps.random(32));
    const added = { name, folded: foldName(name), userHandle, addedAt: atMs };
    const { id } = tx.insert(admins).values(added).returning({ id: admins.id }).get();
    addEvent(tx, { by, atMs }, { subject: 'admin', event: 'added', about: name });
    return invite(tx, deps, { id, name });
  });
}

/**
 * Removes an admin with passkeys, sessions and links. Returns how many passkeys were removed. Throws `not_found`, also
 * if another admin has this name now.
 */
export function removeAdmin(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id, name }: Pick<Admin, 'id' | 'name'>,
  by: Actor,
): { endedPasskeys: number } {
  return write(db, (tx) => {
    const endedPasskeys = listPasskeys(tx, id).length;
    if (tx.delete(admins).where(eq(admins.id, id)).returning().all().length === 0) throw noSuchAdmin(name);
    const act = { by, atMs: clock.nowMs() };
    addEvent(tx, act, { subject: 'admin', event: 'removed', about: name, data: { endedPasskeys } });
    return { endedPasskeys };
  });
}

/** All admins, oldest first. */
export function listAdmins({ db, clock }: Pick<Deps, 'db' | 'clock'>): AdminView[] {
  const invited = db.$client.query<{ until: number | null }, [number, number]>(
    "SELECT max(until) AS until FROM tickets WHERE admin_id = ? AND kind = 'enrolment' AND until > ?",
  );
  const rows = db.select().from(admins).orderBy(asc(admins.id)).all();
  return rows.map(({ id, name, addedAt }) => {
    const views = listPasskeys(db, id).map(viewOf);
    const until = invited.get(id, clock.nowMs())?.until ?? null;
    const stateWithout = until === null ? 'without passkey' : 'invited';
    return {
      name,
      state: views.length > 0 ? 'registered' : stateWithout,
      addedAt: isoTime(addedAt),
      invitedUntil: until === null ? null : isoTime(until),
      passkeys: views,
    };
  });
}

/** Finds the admin with this name, in any spelling. Throws `not_found`. */
export function findAdmin(db: Db | Tx, name: string): Admin {
  const found = lookUp(db, name);
  if (found === undefined) throw noSuchAdmin(name);
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

function lookUp(db: Db | Tx, name: string): Admin | undefined {
  return db
    .select()
    .from(admins)
    .where(eq(admins.folded, foldName(name)))
    .get();
}

function noSuchAdmin(name: string): AppError {
  return new AppError('not_found', `There is no admin ${name}.`);
}
