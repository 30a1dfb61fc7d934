import type { Clock } from './clock.ts';

/** How many keys each throttle remembers; the one with the oldest latest event is forgotten first. */
const MAX_KEYS = 16_384;

/** At most `quota` events in any window of `windowMs` for each key, counted in memory by the monotonic clock. */
export type Throttle = {
  readonly quota: number;
  readonly windowMs: number;
  /** The times of the latest events of each key; the key with the latest one is last. */
  readonly times: Map<string, number[]>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
};

/** Creates a throttle that has counted nothing. */
export function createThrottle(clock: Pick<Clock, 'monotonicMs'>, quota: number, windowMs: number): Throttle {
  return { quota, windowMs, times: new Map(), clock };
}

/** In how many milliseconds another event of this key is allowed; 0 if it is now. */
export function waitMs(throttle: Throttle, key: string): number {
  const { quota, windowMs, clock } = throttle;
  const recent = recentTimes(throttle, key);
  const first = recent.at(-quota);
  // An event counts for the whole last millisecond of its window.
  return first === undefined ? 0 : first + windowMs - clock.monotonicMs() + 1;
}

/** Counts an event. */
export function countEvent(throttle: Throttle, key: string): void {
  const { times, clock } = throttle;
  const recent = recentTimes(throttle, key);
  times.delete(key);
  times.set(key, [...recent, clock.monotonicMs()]);
  if (times.size <= MAX_KEYS) return;
  const [oldest] = times.keys();
  if (oldest !== undefined) times.delete(oldest);
}

function recentTimes({ windowMs, times, clock }: Throttle, key: string): number[] {
  const nowMs = clock.monotonicMs();
  return (times.get(key) ?? []).filter((atMs) => nowMs - atMs <= windowMs);
}
