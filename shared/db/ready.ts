import { schemaState } from './migrate.ts';
import type { Db } from './open.ts';

/** Whether the database is open, ours, and has this version's schema. */
export function isReady(db: Db): boolean {
  try {
    return schemaState(db.$client, db.$client.filename) === 'current';
  } catch {
    return false;
  }
}
