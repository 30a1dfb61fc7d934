import { AppError } from '../shared/errors.ts';
import { type Account, accountOf, type Ledger, spend } from '../shared/keys/quota-ledger.ts';
import { formatWindow } from '../shared/keys/rate-limit.ts';
import { type Ring, remainingAt, resetSeconds, retryAfterSeconds } from '../shared/keys/ring.ts';
import type { VerifiedKey } from '../shared/keys/verify.ts';

/** Where a valid key's rate limits stand at this request; `isExhausted` where they refused it. */
export type Quota = { account: Account; now: number; isExhausted: boolean };

/** One rate limit's level. */
export type Level = { quota: number; windowSeconds: number; remaining: number; resetSeconds: number };

/** Reads a key's levels without spending. */
export function openQuota(ledger: Ledger, key: VerifiedKey): Quota {
  return { account: accountOf(ledger, key), now: ledger.now(), isExhausted: false };
}

/** Spends one request of each of the key's limits. Throws `rate_limited`, and spends nothing, where one is used up. */
export function admit(ledger: Ledger, quota: Quota): void {
  const wait = spend(ledger, quota.account, quota.now);
  if (wait === 0) return;
  quota.isExhausted = true;
  throw new AppError('rate_limited', 'This API key has used up a rate limit.', {
    retryAfterSeconds: retryAfterSeconds(wait),
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

/** `RateLimit`: `"1m";r=59;t=60`; of a refused request only the limits that are used up. */
export function rateLimit({ account, now, isExhausted }: Quota): string {
  const shown = isExhausted ? account.rings.filter((ring) => remainingAt(ring, now) === 0) : account.rings;
  return shown.map((ring) => `"${nameOf(ring)}";r=${remainingAt(ring, now)};t=${resetSeconds(ring, now)}`).join(', ');
}

function nameOf(ring: Ring): string {
  return formatWindow(ring.windowMs / 1000);
}
