import { isoTime } from '../../shared/clock.ts';
import { formatRateLimit } from '../../shared/limits/rate-limit.ts';
import type { Wanted } from './decided.ts';

// Addresses of the pages on which admins decide, made of the server's address that the person has named, and of nothing that a
// server says.

/** The page of the requests that wait. */
export function queuePage(server: string): string {
  return `${server}/developers/admin`;
}

/** The page of a key, with the form of the operation filled in as given. */
export function keyPage(server: string, { move, identifier, given }: Wanted): string {
  const { permissions, rateLimits, expiresAtMs, retireOldAtMs } = given;
  const values = {
    operation: move,
    permissions: permissions?.join(','),
    rateLimits: rateLimits?.map(formatRateLimit).join(','),
    expires: timeText(expiresAtMs),
    retireOld: timeText(retireOldAtMs),
  };
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value).replace(/%2F|%2C|%3A/g, decodeURIComponent)}`],
  );
  return `${queuePage(server)}/keys/${identifier}?${pairs.join('&')}`;
}

function timeText(ms: number | null | undefined): string | undefined {
  return typeof ms === 'number' ? isoTime(ms) : ms === null ? 'never' : undefined;
}
