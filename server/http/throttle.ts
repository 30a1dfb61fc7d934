import type { Clock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';

/** How many failed logins an IP address may have in any window of this length. */
export const FAILURES = { quota: 30, windowSeconds: 60 } as const;

/** How many address blocks are remembered; those that failed longest ago are forgotten first. */
const MAX_BLOCKS = 16_384;

/** The times of the latest events of each address block, by the monotonic clock; the block with the latest one is last. */
export type Throttle = { readonly times: Map<string, number[]>; readonly clock: Pick<Clock, 'monotonicMs'> };

/** Creates a throttle that has counted nothing. */
export function createThrottle(clock: Pick<Clock, 'monotonicMs'>): Throttle {
  return { times: new Map(), clock };
}

const FAILED_LOGINS = 'requests without a valid API key or token';

/**
 * Counts a failed login, or another event, which the refusal calls `what`. Throws `too_many_failures`, and counts nothing, if
 * the block has no failures left.
 */
export function countFailure({ times, clock }: Throttle, block: string, what = FAILED_LOGINS): void {
  const windowMs = FAILURES.windowSeconds * 1_000;
  const nowMs = clock.monotonicMs();
  const recent = (times.get(block) ?? []).filter((atMs) => nowMs - atMs <= windowMs);
  const [first] = recent;
  if (recent.length >= FAILURES.quota && first !== undefined) {
    // An event counts for the whole last millisecond of its window.
    throw tooManyFailures(Math.ceil((first + windowMs - nowMs + 1) / 1_000), what);
  }
  times.delete(block);
  times.set(block, [...recent, nowMs]);
  if (times.size <= MAX_BLOCKS) return;
  const [oldest] = times.keys();
  if (oldest !== undefined) times.delete(oldest);
}

/** The refusal of an IP address that has no failures left for `seconds`. */
export function tooManyFailures(seconds: number, what = FAILED_LOGINS): AppError {
  const sentence = `More than ${FAILURES.quota} ${what} came from this IP address within ${FAILURES.windowSeconds} seconds; try again in ${seconds} s.`;
  return new AppError('too_many_failures', sentence, { retryAfterSeconds: seconds });
}
