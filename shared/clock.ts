/** The clocks of the program, which tests replace. */
export type Clocks = {
  /** The wall clock: whole milliseconds since 1970 (UTC), for dates that people see. */
  nowMs: () => number;
  /** Fractional milliseconds since any time, which never go back within a process; for durations and limits. */
  monotonicMs: () => number;
};

/** The clocks, with the time on which both agree. */
export type Clock = Clocks & {
  /**
   * The wall clock's time once it has agreed with the monotonic clock for {@link SETTLE_MS}, since the start of this thread or
   * since the wall clock last jumped; null before. Requests are refused by the wall clock alone, but actions that can't be undone
   * (storing an expiry, deleting old rows, abandoning mails) wait for this time, so that a clock that is briefly wrong loses
   * nothing.
   */
  settledMs: () => number | null;
};

/** How long both clocks must have agreed before the wall clock is trusted. */
export const SETTLE_MS = 600_000;

// Smaller differences are not a jump: a leap second, and a rate that differs by 0.05%.
const MIN_JUMP_MS = 1_100;
const MAX_DRIFT = 0.0005;

/** Adds {@link Clock.settledMs} to two clocks, which are compared now and at each call. */
export function withSettledTime({ nowMs, monotonicMs }: Clocks): Clock {
  // The readings of both clocks when they agreed, renewed regularly, since small differences add up.
  let agreed = { wallMs: nowMs(), steadyMs: monotonicMs() };
  let agreedSinceMs = agreed.steadyMs;
  return {
    nowMs,
    monotonicMs,
    settledMs: () => {
      const [wallMs, steadyMs] = [nowMs(), monotonicMs()];
      const passedMs = steadyMs - agreed.steadyMs;
      const isJump = Math.abs(wallMs - agreed.wallMs - passedMs) > MIN_JUMP_MS + passedMs * MAX_DRIFT;
      if (isJump) agreedSinceMs = steadyMs;
      if (isJump || passedMs >= SETTLE_MS) agreed = { wallMs, steadyMs };
      return steadyMs - agreedSinceMs >= SETTLE_MS ? wallMs : null;
    },
  };
}

/** The machine's clocks. */
export const systemClock: Clock = withSettledTime({
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
});

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

/** How far a stored time may be ahead of the clock, in milliseconds, since clocks are sometimes set back by seconds. */
export const MAX_BACK_MS = 60_000;

/**
 * Whether a stored period is in effect: it has not ended, and does not begin further in the future than `maxAheadMs`. If it does,
 * the clock was set back, which must not extend any period.
 */
export function isLiveAt(begunAtMs: number, untilMs: number, nowMs: number, maxAheadMs: number = MAX_BACK_MS): boolean {
  return nowMs < untilMs && begunAtMs <= nowMs + maxAheadMs;
}

/** Formats milliseconds since 1970 as ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The length of a day in milliseconds. */
export const DAY_MS = 86_400_000;
