import type { Clock } from '../shared/clock.ts';
import { AppError } from '../shared/errors.ts';
import {
  createRing,
  quantise,
  type Ring,
  record,
  remainingAt,
  retryAfterSeconds,
  waitMs,
} from '../shared/keys/ring.ts';

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
      if (remainingAt(ring, now) === 0) {
        throw new AppError('too_many_failures', 'Too many requests without a valid API key came from this address.', {
          retryAfterSeconds: retryAfterSeconds(waitMs(ring, now, 1)),
        });
      }
      record(ring, now, 1);
    },
  };
}
