import { AppError } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import type { Account } from '../../shared/limits/account.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { formatRateLimit, type RateLimit, rateLimitWords } from '../../shared/limits/rate-limit.ts';
import { type Ring, retryAfterSeconds } from '../../shared/limits/ring.ts';

/** The state of a request with regard to the rate limits of its key. */
export type Quota = {
  account: Account;
  /** Whether the request was admitted or refused by the limits, or does not count. */
  isDecided: boolean;
  /** The cost for which the limits had no room, if the request was refused for that; otherwise 0. */
  refused: number;
};

/** Finds the account of a key. Its levels are up to date only after {@link admit} or {@link showLevels}. */
export function openQuota(limits: Limits, key: VerifiedKey): Quota {
  return { account: limits.accountOf(key), isDecided: false, refused: 0 };
}

/** Brings the levels up to date without spending anything. */
export function showLevels(limits: Limits, quota: Quota): void {
  quota.isDecided = true;
  limits.look(quota.account);
}

/**
 * Spends `cost` requests of each of the key's limits. If there is no room for them now, spends nothing and throws
 * `rate_limited`. If the cost exceeds a whole quota, so that waiting would never help, throws `bad_parameter` and leaves the
 * request undecided.
 */
export function admit(limits: Limits, quota: Quota, cost: number): void {
  const { account } = quota;
  if (cost > 1) refuseTooMany(account, cost);
  quota.isDecided = true;
  const wait = limits.spend(account, cost);
  if (wait === null) return;
  quota.refused = cost;
  const full = account.limits.filter((_, index) => (account.rings[index] as Ring).remaining < cost);
  throw rateLimited(full, cost, retryAfterSeconds(wait));
}

/** The refusal of a request that costs `cost`, by the limits that have no room for it for `seconds`. */
export function rateLimited(full: readonly RateLimit[], cost: number, seconds: number): AppError {
  const limits = full.map((limit) => rateLimitWords(limit)).join(' and ');
  const isOne = full.length === 1 && full[0]?.quota === 1;
  const what = cost === 1 ? `${isOne ? 'is' : 'are'} used up` : `leave no room for ${cost}`;
  return new AppError('rate_limited', `${limits} ${what}; try again in ${seconds} s.`, { retryAfterSeconds: seconds });
}

function refuseTooMany({ limits }: Account, cost: number): void {
  const narrow = limits.find((limit) => limit.quota < cost);
  if (narrow === undefined) return;
  const limit = formatRateLimit(narrow);
  throw new AppError(
    'bad_parameter',
    `This asks for ${cost} profiles, each of which costs a request, and the rate limit ${limit} of this API key never admits more than ${narrow.quota} at once.`,
  );
}

/** The level of a rate limit: `remaining` requests are admitted, and no more than these within `resetSeconds`. */
export type Level = { quota: number; windowSeconds: number; remaining: number; resetSeconds: number };

/** The level of each limit, in the order in which the limits were granted. */
export function levelsOf({ account }: Quota): Level[] {
  return account.rings.map(({ quota, windowMs, remaining, resetSeconds }) => ({
    quota,
    windowSeconds: windowMs / 1000,
    remaining,
    resetSeconds,
  }));
}

/** The value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11): `"1m";q=60;w=60`. */
export function rateLimitPolicy({ account }: Quota): string {
  return account.texts.policy;
}

/** The value of `RateLimit`: `"1m";r=59;t=60`. For a refused request it has only the limits that had no room. */
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
