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

/** ISO 8601 in UTC with milliseconds, from milliseconds since 1970. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
