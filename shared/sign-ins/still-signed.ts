import type { Opened } from '../db/connect.ts';
import { readAdminGeneration } from '../keys/life/admin-generation.ts';
import { ownerVersion } from '../profiles/profile-version.ts';
import type { Signed } from '../sessions-file/whose.ts';
import { isPlatformToken } from './backend-token-row.ts';
import { bindingOf, isSameBinding, readBoundRow } from './binding.ts';
import type { SignedIn } from './row.ts';

/**
 * The person to whom a sign-in or ticket is bound; null if the profile or admin has changed in a way that ends it, or the
 * token of the backend that opened it was removed. An owner's actions are later compared with the version of the profile
 * that is read here.
 */
export function readPerson({ db }: { db: Opened }, signed: Signed): SignedIn | null {
  const { generation } = signed;
  if (signed.kind === 'admin') {
    const { name } = signed;
    const isSame = readAdminGeneration(db, name) === generation;
    return isSame ? { person: { kind: 'admin', name, generation }, name } : null;
  }
  const { profileId, openedBy } = signed;
  const row = readBoundRow(db, profileId);
  if (row === undefined || !isSameBinding(bindingOf(row), signed)) return null;
  if (openedBy !== null && !isPlatformToken(db, openedBy)) return null;
  return { person: { kind: 'owner', name: 'owner', profileId, signedIn: ownerVersion(row) }, name: row.username };
}

/** Whether {@link readPerson} finds the person. */
export function isStillSigned(deps: { db: Opened }, signed: Signed): boolean {
  return readPerson(deps, signed) !== null;
}
