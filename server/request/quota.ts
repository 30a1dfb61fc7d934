import { AppError } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import type { Account } from '../../shared/limits/account.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { formatRateLimit } from '../../shared/limits/rate-limit.ts';
import { type Ring, retryAfterSeconds } from '../../shared/limits/ring.ts';

/** Where a valid key's rate limits stand at this request. */
export type Quota = {
  account: Account;
  /** Whether it was decided if the request is admitted. */
  isDecided: boolean;
  /** How many requests at once the limits had no room for; 0 unless the request was refused for that. */
  refused: number;
};

/** Finds a key's levels, for {@link admit} or {@link showLevels} to bring up to now. */
export function openQuota(limits: Limits, key: VerifiedKey): Quota {
  return { account: limits.accountOf(key), isDecided: false, refused: 0 };
}

/** Reads the levels without spending. */
export function showLevels(limits: Limits, quota: Quota): void {
  quota.isDecided = true;
  limits.look(quota.account);
}

/**
 * Spends what a request costs of each of the key's limits. Throws `bad_parameter` where it costs more than a quota, so that
 * waiting would never help, and leaves it undecided; `rate_limited`, and spends nothing, where there is no room for it now.
 */
export function admit(limits: Limits, quota: Quota, cost: number): void {
  const { account } = quota;
  if (cost > 1) refuseTooMany(account, cost);
  quota.isDecided = true;
  const wait = limits.spend(account, cost);
  if (wait === null) return;
  quota.refused = cost;
  const sentence = cost === 1 ? null : `The rate limits of this API key have no room for ${cost} requests now.`;
  throw new AppError('rate_limited', sentence, { retryAfterSeconds: retryAfterSeconds(wait) });
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
