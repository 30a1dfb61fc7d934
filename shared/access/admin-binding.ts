import type { Opened } from '../db/connect.ts';

/**
 * What an admin's sessions are bound to besides the name: a number that changes when they all have to end. Null where there
 * is no admin of this name, or none that was confirmed. Throws `busy`.
 */
export function readAdminGeneration(_db: Opened, _name: string): number | null {
  // There are no admins yet.
  return null;
}
