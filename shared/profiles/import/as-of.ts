import { DAY_MS, isoTime } from '../../clock.ts';
import { KEPT_AFTER_ERASURE_MS } from '../../db/erasures.ts';
import { parseIsoTime } from '../../iso-time.ts';

/**
 * Parses the time at which an import's data was read. Returns milliseconds since 1970, or the fault as the end of a
 * sentence that begins with the parameter's name. A time before the recorded erasures is refused, since erased profiles
 * would be restored. With `nowMs` null, only the form is checked.
 */
export function readAsOf(text: string, nowMs: number | null): { atMs: number } | { fault: string } {
  const atMs = parseIsoTime(text);
  if (atMs === null) return { fault: 'must be an ISO 8601 time with a time zone, such as 2027-01-31T02:00:00Z' };
  if (nowMs === null) return { atMs };
  if (atMs > nowMs) return { fault: `may not be in the future; it is now ${isoTime(nowMs)}` };
  if (atMs < nowMs - KEPT_AFTER_ERASURE_MS) {
    return { fault: `may not be more than ${KEPT_AFTER_ERASURE_MS / DAY_MS} days in the past` };
  }
  return { atMs };
}
