import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';

/**
 * What an admin's sessions are bound to besides the name: a number that changes when they all have to end. Null where there
 * is no admin of this name, or none with a confirmed passkey. Throws `busy`.
 */
export function readAdminGeneration({ $client: sqlite }: Opened, name: string): number | null {
  const row = guardDatabase(sqlite.filename, () =>
    sqlite
      .query<{ generation: number }, [string]>(
        `SELECT generation FROM admins WHERE name = ? AND EXISTS (
           SELECT 1 FROM passkeys WHERE admin_id = admins.id AND confirmed_at IS NOT NULL)`,
      )
      .get(name),
  );
  return row?.generation ?? null;
}
