import { refitRings } from './account.ts';
import { lookInFile } from './file/look.ts';
import type { RateLimit } from './rate-limit.ts';
import { quantise, type Ring, remainingAt, waitMs } from './ring.ts';

// What is left of limits, for pages: read from the quota file, so that nobody asks the threads that answer lookups. They
// save every 0.8 s, so the latest second of spending may be missing.

/** The current state of a rate limit. Moments are milliseconds since 1970; both are null if nothing of it is spent. */
export type Level = RateLimit & {
  remaining: number;
  /** When the oldest request leaves the window, so that one more is admitted than now. */
  moreAtMs: number | null;
  /** When the whole quota is there again, if nothing is spent until then. */
  fullAtMs: number | null;
};

/** The part of a key that its levels depend on. */
type Limited = { identifier: string; rateLimits: readonly RateLimit[] };

/**
 * Reads where the limits of these keys stand, by identifier, each in the order of its limits. Null where the quota file of
 * this main database is not there or can't be read: then nobody but the server knows.
 */
export function readLevels(
  databasePath: string,
  keys: readonly Limited[],
  nowMs: number,
): ReadonlyMap<string, readonly Level[]> | null {
  const looked = lookInFile(
    databasePath,
    keys.map(({ identifier }) => identifier),
  );
  if (looked === null) return null;
  const { accounts, lastTime } = looked;
  // As limits count it: never before what is stored.
  const now = quantise(Math.max(nowMs, lastTime));
  return new Map(
    keys.map(({ identifier, rateLimits }) => {
      const rings = refitRings(rateLimits, accounts.get(identifier)?.rings ?? [], now);
      return [identifier, rings.map((ring) => levelOf(ring, now))];
    }),
  );
}

function levelOf(ring: Ring, now: number): Level {
  const { quota, windowMs } = ring;
  const remaining = remainingAt(ring, now);
  const at = (count: number) => (remaining === quota ? null : now + waitMs(ring, now, count));
  return { quota, windowSeconds: windowMs / 1000, remaining, moreAtMs: at(remaining + 1), fullAtMs: at(quota) };
}

/** The level with the smallest share left; of two that are equally full, the one with the longer window. */
export function scarcest(levels: readonly Level[]): Level | undefined {
  const share = ({ remaining, quota }: Level) => remaining / quota;
  return levels.toSorted((one, other) => share(one) - share(other) || other.windowSeconds - one.windowSeconds)[0];
}
