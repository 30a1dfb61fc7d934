import { AppError } from '../errors.ts';

/** At most `quota` requests in any window of `windowSeconds`. */
export type RateLimit = { quota: number; windowSeconds: number };

/** The bounds of a rate limit. A key has one to four limits with different windows. */
export const RATE_LIMIT_BOUNDS = { maxQuota: 1_000_000, maxWindowSeconds: 31 * 86_400, maxPerKey: 4 } as const;

const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
const UNIT_NAMES = { d: 'day', h: 'hour', m: 'minute', s: 'second' } as const;
const TEXT = /^([^/]+)\/([0-9]*)(.*)$/;
/** People also write `20/s`, `1200/min` and `5000/day`. */
const UNIT = /^(?:s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)$/;
const WHOLE = /^[1-9][0-9]{0,6}$/;

/** The syntax of a rate limit, for error messages and help texts. */
export const RATE_LIMIT_SYNTAX =
  '<quota>/<window>, for example 60/1m or 5000/1d: quota 1 to 1000000, units s, m, h, d, window 1s to 31d';

/** Parses `60/1m`, and `60/min` as the same. Throws `usage`, with the part that is wrong and the syntax, for any other string. */
export function parseRateLimit(text: string): RateLimit {
  const [, quota = '', count = '', unit = ''] = TEXT.exec(text) ?? [];
  const windowSeconds = Number(count || 1) * UNITS[unit.charAt(0) as keyof typeof UNITS];
  const { maxQuota, maxWindowSeconds } = RATE_LIMIT_BOUNDS;
  const isQuota = WHOLE.test(quota) && Number(quota) <= maxQuota;
  const isWindow = UNIT.test(unit) && (count === '' || WHOLE.test(count)) && windowSeconds <= maxWindowSeconds;
  if (isQuota && isWindow) return { quota: Number(quota), windowSeconds };
  const fault = quota === '' || text.length > 40 ? '' : `The ${isQuota ? 'window' : 'quota'} in ${text} is wrong. `;
  throw new AppError('usage', `${fault}A rate limit is ${RATE_LIMIT_SYNTAX}.`);
}

/**
 * Parses one to four rate limits with different windows, and keeps their order. A string may contain several, separated by commas
 * or spaces. Throws `usage`.
 */
export function parseRateLimits(texts: readonly string[]): RateLimit[] {
  const limits = texts.flatMap((text) => text.split(/[\s,]+/).filter((part) => part !== '')).map(parseRateLimit);
  checkRateLimits(limits);
  return limits;
}

/** Throws `usage` unless these are one to four rate limits with different windows. */
export function checkRateLimits(limits: readonly RateLimit[]): void {
  if (limits.length < 1 || limits.length > RATE_LIMIT_BOUNDS.maxPerKey) {
    throw new AppError('usage', 'A key has one to four rate limits.');
  }
  if (new Set(limits.map((limit) => limit.windowSeconds)).size < limits.length) {
    throw new AppError('usage', 'The rate limits of a key must have different windows.');
  }
}

/** Formats a number of seconds in the largest unit that divides it: 60 is `1m`, 90 is `90s`. */
export function formatWindow(windowSeconds: number): string {
  for (const [unit, seconds] of Object.entries(UNITS)) {
    if (windowSeconds % seconds === 0) return `${windowSeconds / seconds}${unit}`;
  }
  return `${windowSeconds}s`;
}

/** Formats a rate limit as `60/1m`: the inverse of {@link parseRateLimit}, except for the unit. */
export function formatRateLimit(limit: RateLimit): string {
  return `${limit.quota}/${formatWindow(limit.windowSeconds)}`;
}

/** A rate limit in words: `60 requests per minute`, or `60 requests in any minute`. `write` formats the number. */
export function rateLimitWords(
  { quota, windowSeconds }: RateLimit,
  preposition = 'per',
  write: (count: number) => string = String,
): string {
  const requests = quota === 1 ? '1 request' : `${write(quota)} requests`;
  return `${requests} ${preposition} ${windowWords(windowSeconds)}`;
}

/** The length of a window after "per": `minute`, `7 days`. */
export function windowWords(windowSeconds: number): string {
  const window = formatWindow(windowSeconds);
  const [count, unit] = [window.slice(0, -1), UNIT_NAMES[window.slice(-1) as keyof typeof UNITS]];
  return count === '1' ? unit : `${count} ${unit}s`;
}

/** The constant parts of the response headers about rate limits (draft-ietf-httpapi-ratelimit-headers-11). */
type LimitTexts = {
  /** The value of `RateLimit-Policy`: `"1m";q=60;w=60, "1d";q=5000;w=86400`. */
  policy: string;
  /** The name of each limit in `RateLimit`: `"1m"`. */
  names: readonly string[];
};

const TEXTS = new WeakMap<readonly RateLimit[], LimitTexts>();

/** Returns the header texts of a list of limits, cached by the array, which keys with equal limits share. */
export function limitTexts(limits: readonly RateLimit[]): LimitTexts {
  const known = TEXTS.get(limits);
  if (known !== undefined) return known;
  const texts = makeTexts(limits);
  TEXTS.set(limits, texts);
  return texts;
}

function makeTexts(limits: readonly RateLimit[]): LimitTexts {
  const names = limits.map(({ windowSeconds }) => `"${formatWindow(windowSeconds)}"`);
  const policy = limits.map(({ quota, windowSeconds }, index) => `${names[index]};q=${quota};w=${windowSeconds}`);
  return { policy: policy.join(', '), names };
}
