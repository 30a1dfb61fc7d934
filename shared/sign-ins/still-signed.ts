import type { Opened } from '../db/connect.ts';
import type { Signed } from '../sessions-file/whose.ts';
import { readAdminGeneration } from './admin-binding.ts';
import { isPlatformToken } from './backend-token-row.ts';
import { isStillBound } from './binding.ts';

/**
 * Whether the person to whom something was bound has not changed, and the backend's token that opened it still exists.
 */
export function isStillSigned({ db }: { db: Opened }, signed: Signed): boolean {
  if (signed.kind === 'admin') return readAdminGeneration(db, signed.name) === signed.generation;
  return isStillBound(db, signed) && (signed.openedBy === null || isPlatformToken(db, signed.openedBy));
}
