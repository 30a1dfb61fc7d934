import { and, asc, eq } from 'drizzle-orm';
import type { Person } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { admins, passkeys } from '../db/schema/people.ts';
import { write } from '../db/write.ts';
import { AppError } from '../errors.ts';
import { addEvent } from '../events.ts';
import { refuseFormerAdmin } from '../keys/life/admin-generation.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { newGeneration } from './generation.ts';
import type { Credential } from './passkey-answers.ts';

/** A stored passkey. */
export type Passkey = typeof passkeys.$inferSelect;

/** A stored admin. */
export type Admin = typeof admins.$inferSelect;

/** All passkeys of the admin of this name, oldest first. */
export function listPasskeys(db: Db | Tx, name: string): Passkey[] {
  return db
    .select({ passkey: passkeys })
    .from(passkeys)
    .innerJoin(admins, eq(admins.id, passkeys.adminId))
    .where(eq(admins.name, name))
    .orderBy(asc(passkeys.id))
    .all()
    .map(({ passkey }) => passkey);
}

/** The passkey with this credential id, and its admin; null if there is none. */
export function findPasskey(db: Db | Tx, credentialId: Buffer): { passkey: Passkey; admin: Admin } | null {
  const found = db
    .select({ passkey: passkeys, admin: admins })
    .from(passkeys)
    .innerJoin(admins, eq(admins.id, passkeys.adminId))
    .where(eq(passkeys.credentialId, credentialId))
    .get();
  return found ?? null;
}

/** Stores a newly registered passkey. */
export function insertPasskey(
  tx: Tx,
  admin: Admin,
  credential: Credential,
  about: { name: string; atMs: number; client: Client },
): void {
  tx.insert(passkeys)
    .values({
      ...credential,
      adminId: admin.id,
      name: about.name,
      registeredAt: about.atMs,
      registeredFrom: about.client.address,
      registeredBy: about.client.agent.slice(0, MAX_AGENT).toWellFormed(),
    })
    .run();
}

/** Longer user agents are cut, in characters. */
const MAX_AGENT = 255;

/**
 * Records the use of a passkey: its counter, and the time. Throws `forbidden` if another process has just used it with
 * this counter, or removed it.
 */
export function notePasskeyUse(access: Access, { id, signCount }: Passkey, newCount: number): void {
  const changed = write(access.db, (tx) =>
    tx
      .update(passkeys)
      .set({ signCount: newCount, lastUsedAt: access.clock.nowMs() })
      .where(and(eq(passkeys.id, id), eq(passkeys.signCount, signCount)))
      .returning({ id: passkeys.id })
      .all(),
  );
  if (changed.length === 0) throw new AppError('forbidden', 'This passkey has just been used or removed; try again.');
}

/**
 * Removes a passkey at its admin's request, and ends all of that admin's sessions, because a thief of the passkey may
 * have started one. Throws `signed_out` if the admin's sign-in has ended since, `not_found` for another admin's passkey,
 * and `refused` for the last one.
 */
export function removePasskey(access: Access, by: Extract<Person, { kind: 'admin' }>, id: number): void {
  write(access.db, (tx) => {
    const atMs = access.clock.nowMs();
    refuseFormerAdmin(tx, by);
    const admin = tx.select().from(admins).where(eq(admins.name, by.name)).get();
    const all = admin === undefined ? [] : listPasskeys(tx, admin.name);
    const passkey = all.find((one) => one.id === id);
    if (admin === undefined || passkey === undefined) throw new AppError('not_found', 'You have no such passkey.');
    if (!all.some((one) => one.id !== id)) {
      throw new AppError(
        'refused',
        'This is your last passkey; to end your access, run "profilectl admins remove" on the server itself.',
      );
    }
    tx.delete(passkeys).where(eq(passkeys.id, id)).run();
    tx.update(admins)
      .set({ generation: newGeneration(access.random) })
      .where(eq(admins.id, admin.id))
      .run();
    const detail = { passkey: passkey.name };
    addEvent(tx, { by, atMs }, { subject: 'admin', event: 'passkey removed', about: admin.name, data: detail });
  });
}
