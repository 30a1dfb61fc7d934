import { AppError } from '../errors.ts';
import { parseIsoTime } from '../iso-time.ts';

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([1-9][0-9]{0,8})([smhd])$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The latest expiry of a key, in milliseconds since 1970: the end of the year 9999. */
export const LATEST_EXPIRY_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The syntax of an expiry, for error sentences. */
export const EXPIRY_SYNTAX =
  'a duration such as 90d, 12h or 30m (a year is 365d), or a future date or time such as 2027-01-31 or 2027-01-31T00:00:00Z';

/** Parses a duration such as `90d`, `12h`, `30m` or `45s`. Returns milliseconds, or null for any other string. */
export function parseDuration(text: string): number | null {
  const duration = DURATION.exec(text);
  return duration && Number(duration[1]) * UNITS[duration[2] as keyof typeof UNITS];
}

/** Throws `usage` if a time (milliseconds since 1970; null for none) is not in the future. */
export function refuseTimePast(atMs: number | null, nowMs: number, label = 'expiry'): void {
  if (atMs !== null && atMs <= nowMs) throw new AppError('usage', `The ${label} must be in the future.`);
}

/**
 * Throws `usage` if a key would expire within the milliseconds that its approval may take, since the mailed secret might no
 * longer work. Null means never.
 */
export function refuseTimeWithin(expiresAtMs: number | null, approvalMs: number, nowMs: number): void {
  if (expiresAtMs === null || expiresAtMs > nowMs + approvalMs) return;
  throw new AppError(
    'usage',
    `The expiry must be more than ${approvalMs / 1000} s in the future: delivering the secret may take that long.`,
  );
}

/**
 * Parses an expiry: a duration from now, a date (midnight in UTC) or an ISO 8601 time with a zone. Returns milliseconds
 * since 1970. Throws `usage`, naming it by `label`, if it is invalid, not in the future, or after the year 9999.
 */
export function parseExpiry(text: string, nowMs: number, label = 'expiry'): number {
  const duration = parseDuration(text);
  const at = duration ? nowMs + duration : parseIsoTime(DATE.test(text) ? `${text}T00:00Z` : text);
  if (at === null || at <= nowMs || at > LATEST_EXPIRY_MS)
    throw new AppError('usage', `The ${label} must be ${EXPIRY_SYNTAX}.`);
  return at;
}
