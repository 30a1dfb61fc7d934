import { eq } from 'drizzle-orm';
import { isoTime } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys, type KeyChanges, type KeyState, type Permission } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Act } from '../events.ts';
import { areSameLimits } from '../limits/limits.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { Grant, KeyRequest } from './fields.ts';
import { refuseTimePast } from './inputs.ts';
import { hasEnded, hasSecret, stateAt } from './key.ts';
import { type ApiKey, addKeyEvent, type Owner, readKey } from './record.ts';
import type { KeyView } from './view.ts';

/** A new grant in its stored form. Absent fields stay as they are. */
export type NewGrant = { permissions?: Permission[]; rateLimits?: RateLimit[]; expiresAt?: number | null };

type Changed = { changes: KeyChanges; event: number };

/**
 * Stores a new grant, with an event that has the old and new values; `successor` is the key whose approval caused it. Returns
 * the differences and the id of the event; null, without writing, if nothing differs.
 */
export function setGrant(tx: Tx, key: ApiKey, grant: NewGrant, act: Act, successor?: string): Changed | null {
  const changes = changesOf(key, grant);
  if (Object.keys(changes).length === 0) return null;
  tx.update(apiKeys).set(grant).where(eq(apiKeys.identifier, key.identifier)).run();
  const detail = { changes, ...(successor !== undefined && { successor }) };
  const event = addKeyEvent(tx, key, act, 'changed', detail);
  return { changes, event };
}

function changesOf(key: ApiKey, { permissions, rateLimits, expiresAt }: NewGrant): KeyChanges {
  const [had, hadLimits] = [key.permissions ?? [], key.rateLimits ?? []];
  const changes: KeyChanges = {};
  if (permissions && permissions.join() !== had.join()) changes.permissions = { from: had, to: permissions };
  if (rateLimits && !areSameLimits(rateLimits, hadLimits)) changes.rateLimits = { from: hadLimits, to: rateLimits };
  if (expiresAt !== undefined && expiresAt !== key.expiresAt) {
    changes.expiresAt = { from: timeOrNull(key.expiresAt), to: timeOrNull(expiresAt) };
  }
  return changes;
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

/** A grant with its defaults. */
export type DecidedGrant = {
  permissions: Permission[];
  rateLimits: RateLimit[];
  expiresAtMs: number | null;
  retireOldAtMs: number | null;
};

/**
 * Fills in the defaults of a grant: the requested permissions, {@link usualRateLimits}, no expiry, and no change of the key that
 * this one replaces. Throws `usage` if the key could expire before its secret arrives, or if there is no old key to retire.
 */
export function decideGrant(
  deps: Pick<Deps, 'config' | 'approvalLeaseMs'> & { db: Db | Tx },
  key: ApiKey,
  grant: Grant,
  nowMs: number,
): DecidedGrant {
  const permissions = grant.permissions ?? key.requestedPermissions;
  const rateLimits = grant.rateLimits ?? usualRateLimits(deps, key.successorOf);
  const expiresAtMs = grant.expiresAtMs ?? null;
  const retireOldAtMs = grant.retireOldAtMs ?? null;
  if (expiresAtMs !== null && expiresAtMs <= nowMs + deps.approvalLeaseMs) {
    throw new AppError(
      'usage',
      `The expiry must be more than ${deps.approvalLeaseMs / 1000} s in the future: delivering the secret may take that long.`,
    );
  }
  refuseTimePast(retireOldAtMs, nowMs, 'expiry of the old key');
  if (retireOldAtMs !== null && key.successorOf === null) {
    throw new AppError(
      'usage',
      `Key ${key.identifier} does not replace another key, so there is no old key to retire.`,
    );
  }
  return { permissions, rateLimits, expiresAtMs, retireOldAtMs };
}

/** The warning of a change that changes nothing. */
export const ALREADY_SO = 'The key already had these values; nothing was changed.';

/**
 * The default rate limits of an approval: those of the key that this one replaces, so that a program that switches to the new
 * secret keeps its limits; otherwise `DEFAULT_RATE_LIMITS`.
 */
export function usualRateLimits(
  { db, config }: Pick<Deps, 'config'> & { db: Db | Tx },
  successorOf: string | null,
): RateLimit[] {
  const old = successorOf === null ? null : readKey(db, successorOf);
  return [...(old?.rateLimits ?? config.defaultRateLimits)];
}

// A successor is a key that was requested to replace an Active one of the same profile. Both work until the old one ends, so
// that a program can switch to the new secret without an interruption.

/** The facts about the old key in the mail with a successor's secret. */
export type Predecessor = {
  identifier: string;
  /** Its expiry, in milliseconds since 1970; null for never. */
  endsAtMs: number | null;
  state: KeyState;
};

/** The defaults of a request for a key's successor. Throws `refused` unless the key is Active. */
export function prefillFrom(key: KeyView): KeyRequest {
  requireActive(key.identifier, key.state);
  return { ...textsOf(key), permissions: key.permissions };
}

/** The defaults of a request that repeats that of an ended key. Throws `refused` if the key has not ended. */
export function prefillAgain(key: KeyView): KeyRequest {
  if (!hasEnded(key.state)) {
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
  const { identifier, expiresAt } = old;
  return { identifier, endsAtMs: earlier(expiresAt, retireOldAtMs), state: stateAt(old, nowMs) };
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
