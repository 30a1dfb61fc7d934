import type { Db, Tx } from '../../db/connect.ts';
import type { KeyState } from '../../db/key-columns.ts';
import { AppError } from '../../errors.ts';
import type { Act } from '../../events.ts';
import type { KeyRequest } from '../inputs.ts';
import { hasSecret, SLOT_HOLDERS, stateAt } from '../key.ts';
import { type ApiKey, type Owner, readKey } from '../record.ts';
import type { KeyView } from '../view.ts';
import { setGrant } from './grant.ts';

// A successor is a key that was requested to replace an Active one of the same profile. Both work until the old one ends, so
// that a program can switch to the new secret without an interruption.

/** The facts about the old key in the mail with a successor's secret. */
export type Predecessor = {
  identifier: string;
  /** Its expiry, in milliseconds since 1970; null for never. */
  endsAtMs: number | null;
  /** Whether it was revoked or has expired. */
  isOver: boolean;
  isSuspended: boolean;
};

/** The defaults of a request for a key's successor. Throws `refused` unless the key is Active. */
export function prefillFrom(key: KeyView): KeyRequest {
  requireActive(key.identifier, key.state);
  return { ...textsOf(key), permissions: key.permissions };
}

/** The defaults of a request that repeats that of an ended key. Throws `refused` if the key has not ended. */
export function prefillAgain(key: KeyView): KeyRequest {
  if (SLOT_HOLDERS.some((state) => state === key.state)) {
    throw new AppError('refused', `Key ${key.identifier} is ${key.state}; only an ended one can be requested again.`);
  }
  return { ...textsOf(key), permissions: key.requestedPermissions };
}

function textsOf({ name, description, projectUrl, expectedUsage }: KeyView): Omit<KeyRequest, 'permissions'> {
  return { name, description, projectUrl, expectedUsage };
}

/** Throws `not_found` or `refused` if the profile can't request a successor of this key. */
export function checkSuccession(db: Db | Tx, identifier: string, owner: Owner, nowMs: number): void {
  const old = readKey(db, identifier);
  if (old.profileId !== owner.id) {
    throw new AppError('refused', `Key ${identifier} does not belong to the profile ${owner.username}.`);
  }
  requireActive(identifier, stateAt(old, nowMs));
}

function requireActive(identifier: string, state: KeyState): void {
  if (state === 'Active') return;
  throw new AppError(
    'refused',
    `Key ${identifier} is ${state}; only an Active key can be replaced. Request a new key instead.`,
  );
}

/** The predecessor of `key` as it will be once `key` is Active; null if there is none. */
export function predecessorOf(tx: Tx, key: ApiKey, retireOldAtMs: number | null, nowMs: number): Predecessor | null {
  if (key.successorOf === null) return null;
  const old = readKey(tx, key.successorOf);
  const state = stateAt(old, nowMs);
  return {
    identifier: old.identifier,
    endsAtMs: earlier(old.expiresAt, retireOldAtMs),
    isOver: !hasSecret(state),
    isSuspended: state === 'suspended',
  };
}

/**
 * Sets the expiry of the predecessor of `key`, suspended or not, to `retireOldAtMs` if that is earlier. Call it in the
 * transaction that makes `key` Active. Returns the new expiry (ISO 8601), or null if it does not change.
 */
export function retirePredecessor(tx: Tx, key: ApiKey, retireOldAtMs: number | null, act: Act): string | null {
  if (key.successorOf === null) return null;
  const old = readKey(tx, key.successorOf);
  if (!hasSecret(stateAt(old, act.atMs))) return null;
  const expiresAt = earlier(old.expiresAt, retireOldAtMs);
  return setGrant(tx, old, { expiresAt }, act, key.identifier)?.changes.expiresAt?.to ?? null;
}

function earlier(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
