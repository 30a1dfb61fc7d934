import type { Db, Tx } from '../db/connect.ts';
import type { Permission } from '../db/key-columns.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { formatRateLimit, parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { refuseTimePast, refuseTimeWithin } from './expiry.ts';
import { checkPermissions } from './fields.ts';
import type { ApiKey } from './record.ts';
import { usualRateLimits } from './successor.ts';

/** What an admin decides; whatever is absent takes its default: what was requested, {@link usualRateLimits}, no expiry. */
export type Grant = {
  permissions?: readonly string[] | undefined;
  rateLimits?: readonly RateLimit[] | undefined;
  /** Milliseconds since 1970. */
  expiresAtMs?: number | null | undefined;
  /** When the key that this one succeeds is to end at the latest, in milliseconds since 1970; absent leaves it alone. */
  retireOldAtMs?: number | null | undefined;
};

/** A grant with its defaults filled in. */
export type DecidedGrant = {
  permissions: Permission[];
  rateLimits: RateLimit[];
  expiresAtMs: number | null;
  retireOldAtMs: number | null;
};

/**
 * What an approval of this key at this time grants. Throws `usage` for a malformed grant, and for an expiry that may come
 * before the mail with the secret does.
 */
export function decideGrant(
  deps: Pick<Deps, 'config' | 'approvalLeaseMs'> & { db: Db | Tx },
  key: ApiKey,
  grant: Grant,
  nowMs: number,
): DecidedGrant {
  const permissions = checkPermissions(grant.permissions ?? key.requestedPermissions);
  const rateLimits = parseRateLimits((grant.rateLimits ?? usualRateLimits(deps, key.successorOf)).map(formatRateLimit));
  const expiresAtMs = grant.expiresAtMs ?? null;
  const retireOldAtMs = grant.retireOldAtMs ?? null;
  refuseTimeWithin(expiresAtMs, deps.approvalLeaseMs, nowMs);
  refuseTimePast(retireOldAtMs, nowMs, 'end of the old key');
  if (retireOldAtMs !== null && key.successorOf === null) {
    throw new AppError('usage', `Key ${key.identifier} succeeds no other key, so there is no old key to end.`);
  }
  return { permissions, rateLimits, expiresAtMs, retireOldAtMs };
}
