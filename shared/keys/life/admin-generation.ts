import { and, eq, exists, sql } from 'drizzle-orm';
import type { Actor } from '../../actor.ts';
import type { Db, Opened, Tx } from '../../db/connect.ts';
import { guardDatabase } from '../../db/faults.ts';
import { keepQuery } from '../../db/prepared-query.ts';
import { admins, passkeys } from '../../db/schema/people.ts';
import { withTables } from '../../db/tables.ts';
import { AppError } from '../../errors.ts';

const generationByName = keepQuery((db) => {
  const registered = db.select({ id: passkeys.id }).from(passkeys).where(eq(passkeys.adminId, admins.id));
  return db
    .select({ generation: admins.generation })
    .from(admins)
    .where(and(eq(admins.name, sql.placeholder('name')), exists(registered)))
    .prepare();
});

/**
 * The number that an admin's sign-ins are bound to besides the name; it changes when all of them have to end. Null if
 * there is no admin of this name with a passkey.
 */
export function readAdminGeneration(db: Opened, name: string): number | null {
  const row = guardDatabase(db.$client.filename, () => generationByName(withTables(db)).get({ name }));
  return row?.generation ?? null;
}

/**
 * Throws `signed_out` if the admin was removed or invited again since the sign-in with which they decided. Call it in the
 * transaction that stores the decision: while that waited for the write lock, an operator may have done so.
 */
export function refuseFormerAdmin(db: Db | Tx, { name, generation }: Extract<Actor, { kind: 'admin' }>): void {
  if (generation === undefined || generationByName(db).get({ name })?.generation === generation) return;
  throw new AppError(
    'signed_out',
    'You are no longer signed in, because your access as an admin was changed; nothing was done.',
  );
}
