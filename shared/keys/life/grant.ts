import { eq } from 'drizzle-orm';
import { isoTime } from '../../clock.ts';
import type { Db, Tx } from '../../db/connect.ts';
import type { Permission } from '../../db/key-columns.ts';
import type { KeyChanges } from '../../db/schema/events.ts';
import { apiKeys } from '../../db/schema/keys.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { Act } from '../../events.ts';
import { areSameLimits } from '../../limits/limits.ts';
import type { RateLimit } from '../../limits/rate-limit.ts';
import { refuseTimePast, refuseTimeWithin } from '../expiry.ts';
import { type Grant, KEY_CHANGE } from '../inputs.ts';
import { type ApiKey, addKeyEvent, readKey } from '../record.ts';
import type { KeyView } from '../view.ts';

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
 * this one replaces. Throws what {@link refuseGrant} throws.
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
  refuseGrant(key, grant, { ...deps, nowMs });
  return { permissions, rateLimits, expiresAtMs, retireOldAtMs };
}

/** Throws `usage` if the key could expire before its secret arrives, or if there is no old key to retire. */
export function refuseGrant(
  { identifier, successorOf }: Pick<ApiKey, 'identifier' | 'successorOf'>,
  { expiresAtMs = null, retireOldAtMs = null }: Grant,
  { approvalLeaseMs, nowMs }: Pick<Deps, 'approvalLeaseMs'> & { nowMs: number },
): void {
  refuseTimeWithin(expiresAtMs, approvalLeaseMs, nowMs);
  refuseTimePast(retireOldAtMs, nowMs, 'expiry of the old key');
  if (retireOldAtMs !== null && successorOf === null) {
    throw new AppError('usage', `Key ${identifier} does not replace another key, so there is no old key to retire.`);
  }
}

/** The warning of a change that changes nothing. */
export const ALREADY_SO = 'The key already had these values; nothing was changed.';

/** The refusal of such a change on a page. */
export const IS_ALREADY_SO = 'The key already has these values; nothing would change.';

/** The names of the fields of a change whose values the key does not have. */
export function lackedOf(key: KeyView, change: Readonly<Record<string, unknown>>): string[] {
  const has: Readonly<Record<string, unknown>> = {
    permissions: key.permissions,
    rateLimits: key.rateLimits,
    expiresAtMs: key.expiresAt === null ? null : Date.parse(key.expiresAt),
  };
  const wanted = Object.entries(KEY_CHANGE.parse(change));
  return wanted
    .filter(([name, value]) => value !== undefined && !Bun.deepEquals(value, has[name]))
    .map(([name]) => name);
}

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
