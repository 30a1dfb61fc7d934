import { AppError } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import type { Account, Limits } from '../../shared/limits/limits.ts';
import { formatRateLimit, limitTexts, type RateLimit, rateLimitWords } from '../../shared/limits/rate-limit.ts';
import type { Window } from '../../shared/limits/window.ts';

/** The rate-limit state of a request. */
export type Quota = {
  account: Account;
  /** Whether the limits have admitted or refused the request, or it does not count. */
  isDecided: boolean;
  /** The cost for which the limits had no room; 0 unless the request was rate-limited. */
  refused: number;
};

/** The quota of a key, whose levels are up to date only after {@link admit} or {@link showLevels}. */
export function openQuota(limits: Limits, key: VerifiedKey): Quota {
  return { account: limits.accountOf(key), isDecided: false, refused: 0 };
}

/** Updates the levels without spending anything. */
export function showLevels(limits: Limits, quota: Quota): void {
  quota.isDecided = true;
  limits.look(quota.account);
}

/**
 * Spends `cost` requests of each of the key's limits, or throws `rate_limited` and spends nothing if there is no room now. If
 * the cost exceeds a whole quota, so that waiting would never help, throws `bad_parameter` and leaves the request undecided.
 */
export function admit(limits: Limits, quota: Quota, cost: number): void {
  const { account } = quota;
  if (cost > 1) refuseTooMany(account, cost);
  quota.isDecided = true;
  const wait = limits.spend(account, cost);
  if (wait === null) return;
  quota.refused = cost;
  const full = account.limits.filter((_, index) => (account.windows[index] as Window).remaining < cost);
  throw rateLimited(full, cost, Math.ceil(wait / 1000));
}

/** The refusal of a request that costs `cost`, for which the limits `full` have no room for `seconds`. */
function rateLimited(full: readonly RateLimit[], cost: number, seconds: number): AppError {
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
    `This asks for ${cost} profiles, each of which costs a request, but the rate limit ${limit} of this API key never admits more than ${narrow.quota} at once.`,
  );
}

/** The level of a rate limit: no more than `remaining` requests will be admitted within `resetSeconds`. */
type Level = { quota: number; windowSeconds: number; remaining: number; resetSeconds: number };

/** The level of each limit, in the order of the grant. */
export function levelsOf({ account }: Quota): Level[] {
  return account.windows.map(({ quota, windowMs, remaining, resetSeconds }) => ({
    quota,
    windowSeconds: windowMs / 1000,
    remaining,
    resetSeconds,
  }));
}

/** The value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11): `"1m";q=60;w=60`. */
export function rateLimitPolicy({ account }: Quota): string {
  return limitTexts(account.limits).policy;
}

/** The value of `RateLimit`: `"1m";r=59;t=60`. For a rate-limited request, only the limits that had no room. */
export function rateLimit({ account, refused }: Quota): string {
  const { names } = limitTexts(account.limits);
  let list = '';
  for (let index = 0; index < names.length; index++) {
    const { remaining, resetSeconds } = account.windows[index] as Window;
    if (refused > 0 && remaining >= refused) continue;
    list += `${list === '' ? '' : ', '}${names[index]};r=${remaining};t=${resetSeconds}`;
  }
  return list;
}
