import { parseIsoTime } from '../iso-time.ts';
import { parseDuration } from '../keys/expiry.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The syntax of a time for filtering the log, for refusals. */
export const PAST_SYNTAX =
  'a duration such as 7d or 12h, a date such as 2026-01-31, or a time such as 2026-01-31T09:00Z';

/**
 * Parses a time for filtering the log: a duration before now, a date (its midnight in UTC) or an ISO 8601 time with its
 * zone. Returns milliseconds since 1970; null if it is none of these.
 */
export function parsePast(text: string, nowMs: number): number | null {
  const durationMs = parseDuration(text);
  return durationMs === null ? parseIsoTime(DATE.test(text) ? `${text}T00:00Z` : text) : nowMs - durationMs;
}
