import { refitRings } from './account.ts';
import { readQuotaFile } from './file/look.ts';
import type { RateLimit } from './rate-limit.ts';
import { groupAgesMs, quantise, type Ring, remainingAt, waitMs } from './ring.ts';

// What is left of rate limits, for pages and commands. It is read from the quota file, so that the serving threads are not
// interrupted; since they save every 0.8 s, the last second of spending may be missing.

/** The state of a rate limit. Times are milliseconds since 1970, and null if nothing is spent. */
export type Level = RateLimit & {
  remaining: number;
  /** When one more request is admitted, because the oldest one leaves the window. */
  moreAtMs: number | null;
  /** When the whole quota is available again, if nothing is spent until then. */
  fullAtMs: number | null;
  /** Whether it was used up at some time in the longest window of its key. */
  wasUsedUp: boolean;
};

type Limited = { identifier: string; rateLimits: readonly RateLimit[] };

/** Reads the levels of these keys by identifier, in the order of their limits. Null without a readable quota file. */
export function readLevels(
  databasePath: string,
  keys: readonly Limited[],
  nowMs: number,
): ReadonlyMap<string, readonly Level[]> | null {
  const looked = readQuotaFile(
    databasePath,
    keys.map(({ identifier }) => identifier),
  );
  if (looked === null) return null;
  const { accounts, lastTime } = looked;
  // As in `time.ts`, the time is never before the stored one.
  const now = quantise(Math.max(nowMs, lastTime));
  return new Map(
    keys.map(({ identifier, rateLimits }) => {
      const rings = refitRings(rateLimits, accounts.get(identifier)?.rings ?? [], now);
      const [longest] = rings.toSorted((one, other) => other.windowMs - one.windowMs);
      const spent = longest && { agesMs: groupAgesMs(longest, now), size: longest.groupSize };
      return [identifier, rings.map((ring) => levelOf(ring, now, spent))];
    }),
  );
}

/** The groups of requests in a key's longest window: their ages, the oldest first, and the requests in each. */
type Spent = { agesMs: readonly number[]; size: number };

function levelOf(ring: Ring, now: number, spent: Spent | undefined): Level {
  const { quota, windowMs } = ring;
  const remaining = remainingAt(ring, now);
  const at = (count: number) => (remaining === quota ? null : now + waitMs(ring, now, count));
  return {
    quota,
    windowSeconds: windowMs / 1000,
    remaining,
    moreAtMs: at(remaining + 1),
    fullAtMs: at(quota),
    wasUsedUp: wasUsedUp(ring, spent),
  };
}

/** Whether some window of this length reached the quota; nearly, if the longest limit has a quota above 1024, and thus groups. */
function wasUsedUp({ quota, windowMs }: Ring, spent: Spent | undefined): boolean {
  if (spent === undefined) return false;
  const { agesMs, size } = spent;
  const groups = Math.ceil(quota / size);
  return agesMs.some((ageMs, at) => ageMs - (agesMs[at + groups - 1] ?? Number.NEGATIVE_INFINITY) <= windowMs);
}

/** When a key was last used, in milliseconds since 1970; null if its windows are empty. */
export function lastSpentMs(levels: readonly Level[]): number | null {
  const times = levels.flatMap(({ fullAtMs, windowSeconds }) =>
    fullAtMs === null ? [] : [fullAtMs - windowSeconds * 1000],
  );
  return times.length === 0 ? null : Math.floor(Math.max(...times));
}

/** The level with the smallest share left; of two equal ones, that with the longer window. */
export function scarcest(levels: readonly Level[]): Level | undefined {
  const share = ({ remaining, quota }: Level) => remaining / quota;
  return levels.toSorted((one, other) => share(one) - share(other) || other.windowSeconds - one.windowSeconds)[0];
}
