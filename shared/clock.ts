/** The two clocks of the product, in one place so that tests can replace them. */
export type Clock = {
  /** Wall time, milliseconds since 1970 (UTC), whole. For dates that people see: requested, decided, expires. */
  nowMs: () => number;
  /** Milliseconds that only ever grow within a process, with fractions; its zero means nothing. For durations and limits. */
  monotonicMs: () => number;
};

/** The machine's clocks. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * The machine's clocks, with one monotonic time for all threads of a process: `performance.now()` begins at zero in each.
 * Asks the C library, so it is loaded only where there are several. Throws where there is none that it knows.
 */
export async function openThreadClock(): Promise<Clock> {
  const { dlopen, ptr } = await import('bun:ffi');
  const [library, monotonic] = process.platform === 'darwin' ? ['libSystem.B.dylib', 6] : ['libc.so.6', 1];
  const { symbols } = dlopen(library, { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
  // struct timespec: seconds and nanoseconds, 64 bits each; the seconds since the machine started need only half of theirs.
  const time = new Int32Array(4);
  const address = ptr(time);
  return {
    nowMs: systemClock.nowMs,
    monotonicMs: () => {
      symbols.clock_gettime(monotonic, address);
      return (time[0] as number) * 1000 + (time[2] as number) / 1e6;
    },
  };
}

/** ISO 8601 in UTC with milliseconds, from milliseconds since 1970. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The length of a day in UTC, milliseconds. */
export const DAY_MS = 86_400_000;
