import { schemaState } from './migrate.ts';
import type { Opened } from './open.ts';

/** Whether the database is open, ours, and has this version's schema. */
export function isReady(db: Opened): boolean {
  try {
    return schemaState(db.$client, db.$client.filename) === 'current';
  } catch {
    return false;
  }
}
