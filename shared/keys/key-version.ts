import type { Actor } from '../actor.ts';
import { factsOfProfile, refuseSignedOut } from '../profiles/profile-version.ts';
import { type Facts, refuseOtherVersion, type Shown, versionOf } from '../shown-version.ts';
import { type ApiKey, readKey } from './record.ts';
import { type Reader, showKey } from './view.ts';

/** The names of all facts of a key and its profile; some are those of pending keys only. */
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

/** The name of one. */
export type KeyFact = (typeof KEY_FACTS)[number];

/**
 * What people are shown of a key before they decide on it. Of a pending one that is everything about the request, whom its
 * secret goes to, and what the key has that it is to replace. Of others it is nothing that the owner can change: otherwise
 * one who renames the key or the profile again and again could keep admins from revoking it.
 */
function factsOfKey(reader: Reader, identifier: string): Facts {
  const key = readKey(reader.db, identifier);
  const { state, attempt } = showKey(reader, identifier);
  const isPending = key.state === 'pending';
  return {
    key: [identifier, 'it is not the one that was shown'],
    state: [state, `it is ${state} now`],
    grant: [grantOf(key), 'its permissions, rate limits or expiry were changed'],
    ...factsOfProfile(reader.db, key.profileId, isPending ? ['username', 'address'] : []),
    ...(key.profileId !== null && { request: [requestOf(key), 'its request was changed'] }),
    ...(isPending && {
      name: [key.name, 'it was renamed'],
      attempt: [[key.attemptNumber, attempt?.result], 'somebody else has tried to approve it'],
      predecessor: [predecessorOf(reader, key), `key ${key.successorOf}, which it is to replace, was changed`],
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

/** The state of a key as it is shown to whoever decides on it. Throws `not_found`. */
export function keyVersion(reader: Reader, identifier: string): Shown {
  return versionOf(factsOfKey(reader, identifier));
}

/** Throws `changed_since` where a key is not as it was shown. */
export function refuseChangedKey(
  reader: Reader,
  identifier: string,
  shown: Shown | undefined,
  version?: readonly string[],
): void {
  refuseOtherVersion(shown, `Key ${identifier}`, () => factsOfKey(reader, identifier), version);
}

/**
 * Throws unless what somebody does with a key is still what they were shown: `changed_since`, and `signed_out` where an
 * owner's sign-in has ended meanwhile. Call it in the transaction that stores what they do: while that waited for the write
 * lock, an import may have changed the address that the secret goes to.
 */
export function refuseUnlikeKey(reader: Reader, identifier: string, by: Actor): void {
  if (by.kind === 'owner') {
    refuseSignedOut(reader.db, by);
    refuseChangedKey(reader, identifier, by.keyVersion, by.version);
  } else if (by.kind === 'operator' || by.kind === 'admin') refuseChangedKey(reader, identifier, by.shown, by.version);
}
