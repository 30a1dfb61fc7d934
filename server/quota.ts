import { AppError } from '../shared/errors.ts';
import type { Account } from '../shared/keys/quota-account.ts';
import { accountOf, type Ledger, look, spend } from '../shared/keys/quota-ledger.ts';
import { formatRateLimit } from '../shared/keys/rate-limit.ts';
import { type Ring, retryAfterSeconds } from '../shared/keys/ring.ts';
import type { VerifiedKey } from '../shared/keys/verify.ts';

/** Where a valid key's rate limits stand at this request; `refused`: how many at once they had no room for, else 0. */
export type Quota = { account: Account; refused: number };

/** Finds a key's levels, for {@link admit} or {@link showLevels} to bring up to now. */
export function openQuota(ledger: Ledger, key: VerifiedKey): Quota {
  if (key.account?.isComplete !== true) key.account = accountOf(ledger, key);
  return { account: key.account, refused: 0 };
}

/** Reads the levels without spending. */
export function showLevels(ledger: Ledger, { account }: Quota): void {
  look(ledger, account);
}

/** Spends one request of each of the key's limits. Throws `rate_limited`, and spends nothing, where one is used up. */
export function admit(ledger: Ledger, quota: Quota): void {
  const wait = spend(ledger, quota.account);
  if (wait === null) return;
  quota.refused = 1;
  throw new AppError('rate_limited', null, { retryAfterSeconds: retryAfterSeconds(wait) });
}

/**
 * Spends what a request for several costs beyond the one that {@link admit} has spent: all or nothing. Throws
 * `bad_parameter` where so many at once are over a quota, `rate_limited` where there is no room for them now.
 */
export function admitOthers(ledger: Ledger, quota: Quota, cost: number): void {
  if (cost === 1) return;
  const { account } = quota;
  const narrow = account.limits.find((limit) => limit.quota < cost);
  if (narrow !== undefined) {
    const limit = formatRateLimit(narrow);
    throw new AppError(
      'bad_parameter',
      `This asks for ${cost} profiles, each of which costs a request, and the rate limit ${limit} of this API key never admits more than ${narrow.quota} at once.`,
    );
  }
  // Asked again, the request needs room for all of it: its first is spent again.
  const wait = spend(ledger, account, cost - 1, cost);
  if (wait === null) return;
  quota.refused = cost;
  throw new AppError('rate_limited', `The rate limits of this API key have no room for ${cost} requests now.`, {
    retryAfterSeconds: retryAfterSeconds(wait),
  });
}

/** Where a rate limit stands: how many requests it admits, and the whole seconds within which no more than these. */
export type Level = { quota: number; windowSeconds: number; remaining: number; resetSeconds: number };

/** The level of each limit, in the order in which they were granted. */
export function levelsOf({ account }: Quota): Level[] {
  return account.rings.map(({ quota, windowMs, remaining, resetSeconds }) => ({
    quota,
    windowSeconds: windowMs / 1000,
    remaining,
    resetSeconds,
  }));
}

/** `RateLimit-Policy`, as in draft-ietf-httpapi-ratelimit-headers-11: `"1m";q=60;w=60`. */
export function rateLimitPolicy({ account }: Quota): string {
  return account.texts.policy;
}

/** `RateLimit`: `"1m";r=59;t=60`; of a refused request only the limits that have no room for it. */
export function rateLimit({ account, refused }: Quota): string {
  const { names } = account.texts;
  let list = '';
  for (let index = 0; index < names.length; index++) {
    const { remaining, resetSeconds } = account.rings[index] as Ring;
    if (refused > 0 && remaining >= refused) continue;
    list += `${list === '' ? '' : ', '}${names[index]};r=${remaining};t=${resetSeconds}`;
  }
  return list;
}
