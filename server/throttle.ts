import { createBoundedCache } from '../shared/bounded-cache.ts';
import type { Clock } from '../shared/clock.ts';
import { AppError } from '../shared/errors.ts';
import { createRing, quantise, type Ring, record, retryAfterSeconds, waitForAllMs } from '../shared/keys/ring.ts';

/** So many refused credentials an address may have in any window of so many seconds. */
export const FAILURES = { quota: 30, windowSeconds: 60 } as const;

/** What is remembered takes so much at most, about 50 000 addresses; those that failed longest ago are forgotten first. */
const MAX_BYTES = 20 * 1024 * 1024;

/** What an address and its ring take, about. */
const ADDRESS_BYTES = 250;

/** Counts failed authentications by address block. */
export type Throttle = {
  /** Counts one. Throws `too_many_failures`, and counts nothing, where the block has had its share. */
  count: (block: string) => void;
};

/** An empty throttle. */
export function createThrottle(clock: Clock, maxBytes = MAX_BYTES): Throttle {
  // Not a map in the order of use: looking for its first entry steps over all that were deleted, 40 µs in a flood.
  const rings = createBoundedCache<string, Ring>(maxBytes);
  return {
    count: (block) => {
      const now = quantise(clock.monotonicMs());
      let ring = rings.get(block);
      if (ring === undefined) {
        ring = createRing(FAILURES);
        rings.set(block, ring, ADDRESS_BYTES);
      }
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
