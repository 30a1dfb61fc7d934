import type { Db, Tx } from '../../db/connect.ts';
import type { Permission } from '../../db/key-columns.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { RateLimit } from '../../limits/rate-limit.ts';
import { refuseTimePast, refuseTimeWithin } from '../expiry.ts';
import type { Grant } from '../fields/input-groups.ts';
import type { ApiKey } from '../record.ts';
import { usualRateLimits } from './successor.ts';

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
