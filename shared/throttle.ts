import type { Clock } from './clock.ts';
import { AppError } from './errors.ts';

/** How many of the latest keys a throttle remembers, unless told. Floods fill throttles, and the heap grows to several times that. */
const KEYS = 1_024;

/** At most `quota` events in any window of `windowMs` for each key, counted in memory by the monotonic clock. */
export type Throttle = {
  readonly quota: number;
  readonly windowMs: number;
  /** The latest so many keys are remembered, and twice as many at most. */
  readonly keys: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /**
   * The times of the latest events of each key. Once `latest` is full it becomes `former`, which is dropped as a whole: a
   * flood of keys leaves nothing behind that has to be deleted one by one.
   */
  latest: Map<string, number[]>;
  former: Map<string, number[]>;
};

/** Creates a throttle that has counted nothing. */
export function createThrottle(
  clock: Pick<Clock, 'monotonicMs'>,
  quota: number,
  windowMs: number,
  keys = KEYS,
): Throttle {
  return { quota, windowMs, keys, clock, latest: new Map(), former: new Map() };
}

/** In how many milliseconds another event of this key is allowed; 0 if it is now. */
export function waitMs(throttle: Throttle, key: string): number {
  const { quota, windowMs, clock } = throttle;
  const first = recentTimes(throttle, key).at(-quota);
  // An event counts for the whole last millisecond of its window.
  return first === undefined ? 0 : first + windowMs - clock.monotonicMs() + 1;
}

/** Counts an event. */
export function countEvent(throttle: Throttle, key: string): void {
  throttle.latest.set(key, [...recentTimes(throttle, key), throttle.clock.monotonicMs()]);
  if (throttle.latest.size < throttle.keys) return;
  throttle.former = throttle.latest;
  throttle.latest = new Map();
}

function recentTimes({ windowMs, clock, latest, former }: Throttle, key: string): number[] {
  const nowMs = clock.monotonicMs();
  return (latest.get(key) ?? former.get(key) ?? []).filter((atMs) => nowMs - atMs <= windowMs);
}

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
