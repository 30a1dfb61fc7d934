import type { Db, Tx } from '../../db/connect.ts';
import type { Permission } from '../../db/key-columns.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { RateLimit } from '../../limits/rate-limit.ts';
import { refuseTimePast, refuseTimeWithin } from '../expiry.ts';
import type { Grant } from '../fields/input-groups.ts';
import type { ApiKey } from '../record.ts';
import { usualRateLimits } from './successor.ts';

/** A grant with its defaults filled in. */
export type DecidedGrant = {
  permissions: Permission[];
  rateLimits: RateLimit[];
  expiresAtMs: number | null;
  retireOldAtMs: number | null;
};

/**
 * The grant of an approval, with its defaults: the requested permissions, {@link usualRateLimits}, no expiry, and no change of
 * the key that this one succeeds. Throws `usage` for an expiry that may come before the mail with the secret.
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

/** Throws `usage` if the key would expire too early, or if it replaces no key that could be ended. */
export function refuseGrant(
  { identifier, successorOf }: Pick<ApiKey, 'identifier' | 'successorOf'>,
  { expiresAtMs = null, retireOldAtMs = null }: Grant,
  { approvalLeaseMs, nowMs }: Pick<Deps, 'approvalLeaseMs'> & { nowMs: number },
): void {
  refuseTimeWithin(expiresAtMs, approvalLeaseMs, nowMs);
  refuseTimePast(retireOldAtMs, nowMs, 'end of the old key');
  if (retireOldAtMs !== null && successorOf === null) {
    throw new AppError('usage', `Key ${identifier} does not replace another key, so there is no old key to end.`);
  }
}
