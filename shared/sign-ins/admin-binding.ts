import { and, eq, exists, isNotNull, sql } from 'drizzle-orm';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { admins, passkeys } from '../db/schema/people.ts';
import { withTables } from '../db/tables.ts';

const generationByName = keepQuery((db) => {
  const isTheirs = and(eq(passkeys.adminId, admins.id), isNotNull(passkeys.confirmedAt));
  const confirmed = db.select({ id: passkeys.id }).from(passkeys).where(isTheirs);
  return db
    .select({ generation: admins.generation })
    .from(admins)
    .where(and(eq(admins.name, sql.placeholder('name')), exists(confirmed)))
    .prepare();
});

/**
 * The number that an admin's sign-ins are bound to besides the name; it changes when all of them have to end. Null if
 * there is no admin of this name with a confirmed passkey.
 */
export function readAdminGeneration(db: Opened, name: string): number | null {
  const row = guardDatabase(db.$client.filename, () => generationByName(withTables(db)).get({ name }));
  return row?.generation ?? null;
}
