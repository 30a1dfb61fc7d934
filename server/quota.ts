import { AppError } from '../shared/errors.ts';
import { type Account, accountOf, type Ledger, spend } from '../shared/keys/quota-ledger.ts';
import { formatRateLimit, formatWindow } from '../shared/keys/rate-limit.ts';
import { type Ring, remainingAt, resetSeconds, retryAfterSeconds, waitMs } from '../shared/keys/ring.ts';
import type { VerifiedKey } from '../shared/keys/verify.ts';

/** Where a valid key's rate limits stand at this request; `refused`: how many at once they had no room for, else 0. */
export type Quota = { account: Account; now: number; refused: number };

/** One rate limit's level. */
export type Level = { quota: number; windowSeconds: number; remaining: number; resetSeconds: number };

/** Reads a key's levels without spending. */
export function openQuota(ledger: Ledger, key: VerifiedKey): Quota {
  return { account: accountOf(ledger, key), now: ledger.now(), refused: 0 };
}

/** Spends one request of each of the key's limits. Throws `rate_limited`, and spends nothing, where one is used up. */
export function admit(ledger: Ledger, quota: Quota): void {
  const wait = spend(ledger, quota.account, quota.now);
  if (wait === null) return;
  quota.refused = 1;
  throw new AppError('rate_limited', 'This API key has used up a rate limit.', {
    retryAfterSeconds: retryAfterSeconds(wait),
  });
}

/**
 * Spends what a request for several costs beyond the one that {@link admit} has spent: all or nothing. Throws
 * `bad_parameter` where so many at once are over a quota, `rate_limited` where there is no room for them now.
 */
export function admitOthers(ledger: Ledger, quota: Quota, cost: number): void {
  if (cost === 1) return;
  const { account, now } = quota;
  const narrow = account.rings.find((ring) => ring.quota < cost);
  if (narrow !== undefined) {
    const limit = formatRateLimit({ quota: narrow.quota, windowSeconds: narrow.windowMs / 1000 });
    throw new AppError(
      'bad_parameter',
      `This asks for ${cost} profiles, each of which costs a request, and the rate limit ${limit} of this API key never admits more than ${narrow.quota} at once.`,
    );
  }
  if (spend(ledger, account, now, cost - 1) === null) return;
  quota.refused = cost;
  // Asked again, the request needs room for all of it: its first is spent again.
  const waits = account.rings.filter((ring) => remainingAt(ring, now) < cost).map((ring) => waitMs(ring, now, cost));
  throw new AppError('rate_limited', `The rate limits of this API key have no room for ${cost} requests now.`, {
    retryAfterSeconds: retryAfterSeconds(Math.max(...waits)),
  });
}

/** The level of each limit, in the order in which they were granted. */
export function levelsOf({ account, now }: Quota): Level[] {
  return account.rings.map((ring) => ({
    quota: ring.quota,
    windowSeconds: ring.windowMs / 1000,
    remaining: remainingAt(ring, now),
    resetSeconds: resetSeconds(ring, now),
  }));
}

/** `RateLimit-Policy`, as in draft-ietf-httpapi-ratelimit-headers-11: `"1m";q=60;w=60`. */
export function rateLimitPolicy({ account }: Quota): string {
  return account.rings.map((ring) => `"${nameOf(ring)}";q=${ring.quota};w=${ring.windowMs / 1000}`).join(', ');
}

/** `RateLimit`: `"1m";r=59;t=60`; of a refused request only the limits that have no room for it. */
export function rateLimit({ account, now, refused }: Quota): string {
  const shown = refused > 0 ? account.rings.filter((ring) => remainingAt(ring, now) < refused) : account.rings;
  return shown.map((ring) => `"${nameOf(ring)}";r=${remainingAt(ring, now)};t=${resetSeconds(ring, now)}`).join(', ');
}

function nameOf(ring: Ring): string {
  return formatWindow(ring.windowMs / 1000);
}
