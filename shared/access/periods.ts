/** How far a stored time may lie ahead of the clock: machines' clocks are set back by seconds now and then. */
export const MAX_BACK_MS = 60_000;

/**
 * Whether a time still lies within the period that began at `startMs`. It does not where the beginning lies more than a
 * minute ahead: then the clock was set back, and nothing may live longer than its period because of that.
 */
export function isWithin(startMs: number, lengthMs: number, nowMs: number): boolean {
  return nowMs < startMs + lengthMs && startMs <= nowMs + MAX_BACK_MS;
}
