import { dlopen, ptr } from 'bun:ffi';

/** The two clocks of the program, which tests replace. */
export type Clock = {
  /** The wall clock: whole milliseconds since 1970 (UTC). For dates that people see: requested, decided, expires. */
  nowMs: () => number;
  /** Milliseconds, with fractions, that never go back within a process and start anywhere. For durations and limits. */
  monotonicMs: () => number;
};

/** The machine's clocks. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

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
  return {
    nowMs: systemClock.nowMs,
    monotonicMs: () => {
      symbols.clock_gettime(monotonic, address);
      return (time[0] as number) * 1000 + (time[2] as number) / 1e6;
    },
  };
}

/** Formats milliseconds since 1970 as ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The length of a day in milliseconds. */
export const DAY_MS = 86_400_000;
