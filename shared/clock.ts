/** The clocks of the program, which tests replace. */
export type Clock = {
  /** The wall clock: whole milliseconds since 1970 (UTC), for dates that people see. */
  nowMs: () => number;
  /** Fractional milliseconds since any time, which never go back within a process; for durations and limits. */
  monotonicMs: () => number;
};

/** The machine's clocks. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Resolves like the promise, or to `too late` after this many milliseconds. Nothing is aborted. */
export async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | 'too late'> {
  const { promise: late, resolve } = Promise.withResolvers<'too late'>();
  const timer = setTimeout(resolve, milliseconds, 'too late');
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Formats milliseconds since 1970 as ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The length of a day in milliseconds. */
export const DAY_MS = 86_400_000;
