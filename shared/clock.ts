import { dlopen, ptr } from 'bun:ffi';

/** The two clocks of the program, which tests replace. */
export type Clocks = {
  /** The wall clock: whole milliseconds since 1970 (UTC). For dates that people see: requested, decided, expires. */
  nowMs: () => number;
  /** Milliseconds, with fractions, that never go back within a process and start anywhere. For durations and limits. */
  monotonicMs: () => number;
};

/** The clocks, and the time on which both agree. */
export type Clock = Clocks & {
  /**
   * The wall clock's time if it has agreed with the monotonic clock for {@link SETTLE_MS}: since the start of this
   * thread, or since the wall clock last jumped. Null before. A request is refused by the time of the wall clock alone,
   * but what can't be taken back (storing that a key has expired, deleting old rows, giving up mails) waits for this
   * time, so that a clock that is wrong for a moment loses nothing.
   */
  settledMs: () => number | null;
};

/** How long both clocks must have agreed before the wall clock is trusted. */
export const SETTLE_MS = 600_000;

/** How far the clocks may differ without a jump: the second of a leap second, and a rate that differs by 0.05 %. */
const LEAST_JUMP_MS = 1_100;
const MOST_DRIFT = 0.0005;

/** Adds {@link Clock.settledMs} to two clocks; they are compared whenever that is called, and from now on. */
export function withSettledTime({ nowMs, monotonicMs }: Clocks): Clock {
  // The readings of both clocks at a moment of agreement. They are renewed now and then, since small differences add
  // up.
  let agreed = { wallMs: nowMs(), steadyMs: monotonicMs() };
  let agreedSinceMs = agreed.steadyMs;
  return {
    nowMs,
    monotonicMs,
    settledMs: () => {
      const [wallMs, steadyMs] = [nowMs(), monotonicMs()];
      const passedMs = steadyMs - agreed.steadyMs;
      const isJump = Math.abs(wallMs - agreed.wallMs - passedMs) > LEAST_JUMP_MS + passedMs * MOST_DRIFT;
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

/**
 * Returns the machine's clocks with one monotonic time for all threads of the process; `performance.now()` starts at
 * zero in each thread. Calls the C library, so use it only if there are several threads. Throws if the C library can't
 * be loaded.
 */
export function openThreadClock(): Clock {
  const [library, monotonic] = process.platform === 'darwin' ? ['libSystem.B.dylib', 6] : ['libc.so.6', 1];
  const { symbols } = dlopen(library, { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
  // struct timespec has seconds and nanoseconds of 64 bits each; the lower 32 bits of both are enough, also of the
  // seconds, which count from the start of the machine. The array gets an ArrayBuffer of its own, because the compiler of
  // JavaScript may move the content of an array without one to another address, where the C library does not write.
  const time = new Int32Array(new ArrayBuffer(16));
  const address = ptr(time);
  return withSettledTime({
    nowMs: systemClock.nowMs,
    monotonicMs: () => {
      symbols.clock_gettime(monotonic, address);
      return (time[0] as number) * 1000 + (time[2] as number) / 1e6;
    },
  });
}

/** Resolves as a promise does, or to `too late` after this many milliseconds. What the promise is about is not aborted. */
export async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | 'too late'> {
  const { promise: late, resolve } = Promise.withResolvers<'too late'>();
  const timer = setTimeout(resolve, milliseconds, 'too late');
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How far a stored time may be ahead of the clock, in milliseconds: clocks are set back by seconds now and then. */
export const MAX_BACK_MS = 60_000;

/**
 * Whether something that began and ends at stored times is in effect: it has not ended, and does not begin further in the
 * future than `mostAheadMs`. If it does, the clock was set back, which must not extend any period.
 */
export function isLiveAt(
  begunAtMs: number,
  untilMs: number,
  nowMs: number,
  mostAheadMs: number = MAX_BACK_MS,
): boolean {
  return nowMs < untilMs && begunAtMs <= nowMs + mostAheadMs;
}

/** Formats milliseconds since 1970 as ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The length of a day in milliseconds. */
export const DAY_MS = 86_400_000;
