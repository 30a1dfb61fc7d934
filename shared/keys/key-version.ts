import type { Actor } from '../actor.ts';
import { factsOfProfile, refuseSignedOut } from '../profiles/profile-version.ts';
import { type Facts, refuseOtherVersion, type ShownVersion, versionOf } from '../shown-version.ts';
import { refuseFormerAdmin } from './life/admin-generation.ts';
import { type ApiKey, readKey } from './record.ts';
import { type Reader, showKey } from './view.ts';

/** The facts of a key and its profile that a decision may depend on; some exist only for pending keys. */
export const KEY_FACTS = [
  'key',
  'state',
  'grant',
  'profile',
  'username',
  'address',
  'request',
  'name',
  'attempt',
  'predecessor',
] as const;

/** The name of one such fact. */
export type KeyFact = (typeof KEY_FACTS)[number];

// The facts of a pending key include its request, the recipient of its secret, and the grant of the key that it replaces. Those
// of other keys include nothing that the owner can change: otherwise an owner could prevent a revocation by renaming the key or
// the profile again and again.
function factsOfKey(reader: Reader, identifier: string): Facts {
  const key = readKey(reader.db, identifier);
  const { state, attempt } = showKey(reader, identifier);
  const isPending = key.state === 'pending';
  return {
    key: [identifier, 'it is not the one that was shown'],
    state: [state, `it is now ${state}`],
    grant: [grantOf(key), 'its permissions, rate limits or expiry were changed'],
    ...factsOfProfile(reader.db, key.profileId, isPending ? ['username', 'address'] : []),
    ...(key.profileId !== null && { request: [requestOf(key), 'its request was changed'] }),
    ...(isPending && {
      name: [key.name, 'it was renamed'],
      attempt: [[key.attemptNumber, attempt?.result], 'somebody else has tried to approve it'],
      predecessor: [predecessorOf(reader, key), `key ${key.successorOf}, which it replaces, was changed`],
    }),
  };
}

function requestOf({ description, projectUrl, expectedUsage, requestedPermissions, successorOf }: ApiKey) {
  return [description, projectUrl, expectedUsage, requestedPermissions, successorOf];
}

function grantOf({ permissions, rateLimits, expiresAt }: ApiKey) {
  return [permissions, rateLimits, expiresAt];
}

function predecessorOf(reader: Reader, { successorOf }: ApiKey) {
  if (successorOf === null) return null;
  return [showKey(reader, successorOf).state, grantOf(readKey(reader.db, successorOf))];
}

/** Returns the version of a key as it is now, for comparison when the decision is made. Throws `not_found`. */
export function keyVersion(reader: Reader, identifier: string): ShownVersion {
  return versionOf(factsOfKey(reader, identifier));
}

/** Throws `changed_since` if the key has changed since that version was shown. */
export function refuseChangedKey(
  reader: Reader,
  identifier: string,
  shown: ShownVersion | undefined,
  version?: readonly string[],
): void {
  refuseOtherVersion(shown, `Key ${identifier}`, () => factsOfKey(reader, identifier), version);
}

/**
 * Throws `changed_since` if the key has changed since the person was shown it, and `signed_out` if the sign-in of an owner or
 * admin has ended. Call it in the transaction that stores the decision: while that waited for the write lock, an import may
 * have changed the e-mail address.
 */
export function refuseUnlikeKey(reader: Reader, identifier: string, by: Actor): void {
  if (by.kind === 'admin') refuseFormerAdmin(reader.db, by);
  if (by.kind === 'owner') {
    refuseSignedOut(reader.db, by);
    refuseChangedKey(reader, identifier, by.keyVersion, by.version);
  } else if (by.kind === 'operator' || by.kind === 'admin') refuseChangedKey(reader, identifier, by.shown, by.version);
}
