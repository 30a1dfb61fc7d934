import type { Opened } from './connect.ts';
import { schemaState } from './migrate.ts';

/** Whether the database is open, belongs to this program, and has this version's schema. Never throws. */
export function isReady(db: Opened): boolean {
  try {
    return schemaState(db.$client, db.$client.filename) === 'current';
  } catch {
    return false;
  }
}
