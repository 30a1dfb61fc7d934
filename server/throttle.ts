import type { Clock } from '../shared/clock.ts';
import { AppError } from '../shared/errors.ts';
import { createRing, quantise, type Ring, record, retryAfterSeconds, waitForAllMs } from '../shared/keys/ring.ts';

/** So many refused credentials an address may have in any window of so many seconds. */
export const FAILURES = { quota: 30, windowSeconds: 60 } as const;

/** How many addresses are remembered; the one that failed longest ago is forgotten first. */
const MAX_ADDRESSES = 50_000;

/** Counts failed authentications by address block. */
export type Throttle = {
  /** Counts one. Throws `too_many_failures`, and counts nothing, where the block has had its share. */
  count: (block: string) => void;
};

/** An empty throttle. */
export function createThrottle(clock: Clock, maxAddresses = MAX_ADDRESSES): Throttle {
  const rings = new Map<string, Ring>();
  return {
    count: (block) => {
      const now = quantise(clock.monotonicMs());
      const ring = rings.get(block) ?? createRing(FAILURES);
      // A map keeps the order of insertion: set anew, the block is the youngest.
      rings.delete(block);
      rings.set(block, ring);
      if (rings.size > maxAddresses) rings.delete(rings.keys().next().value as string);
      refuseLate(fail(ring, now));
    },
  };
}

/** Records a failure at `now` where there is room for it, and returns null; else the milliseconds until there is. */
export function fail(ring: Ring, now: number): number | null {
  const wait = waitForAllMs([ring], now, 1, 1);
  if (wait === null) record(ring, now, 1);
  return wait;
}

/** Throws `too_many_failures` where there is a wait. */
export function refuseLate(wait: number | null): void {
  if (wait === null) return;
  throw new AppError('too_many_failures', 'Too many requests without a valid API key came from this address.', {
    retryAfterSeconds: retryAfterSeconds(wait),
  });
}
