import type { Clock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import { countEvent, createThrottle, type Throttle, waitMs } from '../../shared/throttle.ts';

/** How many failed logins an IP address may have in any window of this length. */
export const FAILURES = { quota: 30, windowSeconds: 60 } as const;

/** Creates a throttle of failed logins, or of other events of which an address may have as many. */
export function createFailureThrottle(clock: Pick<Clock, 'monotonicMs'>): Throttle {
  return createThrottle(clock, FAILURES.quota, FAILURES.windowSeconds * 1_000);
}

/**
 * Counts a failed login, or another event, which the refusal calls `what`. Throws `too_many_failures`, and counts nothing, if
 * the block of addresses has none left.
 */
export function countFailure(
  throttle: Throttle,
  block: string,
  what = 'requests without a valid API key or token',
): void {
  const ms = waitMs(throttle, block);
  if (ms === 0) {
    countEvent(throttle, block);
    return;
  }
  const { quota, windowMs } = throttle;
  const retryAfterSeconds = Math.ceil(ms / 1_000);
  const sentence = `More than ${quota} ${what} came from this IP address within ${windowMs / 1_000} seconds; try again in ${retryAfterSeconds} s.`;
  throw new AppError('too_many_failures', sentence, { retryAfterSeconds });
}
