import { type LimitTexts, limitTexts, RATE_LIMIT_BOUNDS, type RateLimit } from './rate-limit.ts';
import { createRing, fitRing, noteLevel, type Ring, usedAt } from './ring.ts';

/** The part of an API key that rate limiting needs. */
export type LimitedKey = {
  readonly identifier: string;
  /** Keys with equal limits share one array. */
  readonly rateLimits: readonly RateLimit[];
  /** A cache of the key's account, filled by `Limits.accountOf`. */
  account?: Account | undefined;
};

/** The requests that a key has spent: a ring buffer for each of its limits, in the order in which they were granted. */
export type Account = {
  readonly identifier: string;
  readonly limits: readonly RateLimit[];
  /** The constant parts of the `RateLimit` response headers for these limits. */
  readonly texts: LimitTexts;
  rings: readonly Ring[];
  /** The rings of limits that the key had before, while requests are in their windows: a limit may come back. */
  former: readonly Ring[];
  /** False while a ring still has the layout of an earlier quota. */
  isFitted: boolean;
  /** The oldest row in the quota file that this account's saved state depends on; 0 if all of it has to be written. */
  firstRow: number;
  /** True while spent requests are not in the quota file yet. */
  isChanged: boolean;
  /** True once the account was removed or replaced; a {@link LimitedKey} then has to look its account up again. */
  isDropped: boolean;
};

/** The maximum number of rings of an account, including those of former limits. */
export const MAX_RINGS = 2 * RATE_LIMIT_BOUNDS.maxPerKey;

/** Makes an account; `rings` must be in the order of `limits`. */
export function newAccount(
  identifier: string,
  limits: readonly RateLimit[],
  rings: readonly Ring[],
  former: readonly Ring[] = [],
): Account {
  return {
    identifier,
    limits,
    texts: limitTexts(limits),
    rings,
    former,
    isFitted: areFitted(rings),
    firstRow: 0,
    isChanged: false,
    isDropped: false,
  };
}

/** Whether two lists have equal rate limits in the same order. */
export function areSameLimits(one: readonly RateLimit[], other: readonly RateLimit[]): boolean {
  if (one === other) return true;
  return (
    one.length === other.length &&
    one.every(({ quota, windowSeconds }, index) => {
      const { quota: otherQuota, windowSeconds: otherWindow } = other[index] as RateLimit;
      return quota === otherQuota && windowSeconds === otherWindow;
    })
  );
}

/**
 * Returns a ring for each limit. A ring keeps the requests of one in `rings` with the same window, even if the quota has changed;
 * otherwise it starts empty.
 */
export function refitRings(limits: readonly RateLimit[], rings: readonly Ring[], now: number): Ring[] {
  return limits.map((limit) => {
    const former = rings.find(({ windowMs }) => windowMs === limit.windowSeconds * 1000);
    return former === undefined ? createRing(limit) : refitRing(former, limit, now);
  });
}

/**
 * The rings with other windows than those of the limits that still contain requests: the longest windows first, and no more than
 * an account may have.
 */
export function formerRings(limits: readonly RateLimit[], rings: readonly Ring[], now: number): Ring[] {
  const others = rings.filter(({ windowMs }) => limits.every(({ windowSeconds }) => windowMs !== windowSeconds * 1000));
  const used = others.filter((ring) => usedAt(ring, now) > 0);
  return used.sort((one, other) => other.windowMs - one.windowMs).slice(0, MAX_RINGS - limits.length);
}

/** Whether every ring has the layout of its quota. */
export function areFitted(rings: readonly Ring[]): boolean {
  return rings.every(({ quota, capacity }) => quota === capacity);
}

/** Whether all windows are empty at `now`, so that the account can be dropped. */
export function isUnused(rings: readonly Ring[], now: number): boolean {
  return rings.every((ring) => usedAt(ring, now) === 0);
}

/** Whether some ring has an outdated layout, and few enough requests to be laid out for its quota now. */
export function canRefit(rings: readonly Ring[], now: number): boolean {
  return rings.some((ring) => ring.capacity !== ring.quota && usedAt(ring, now) <= ring.quota);
}

/** Updates `remaining` and `resetSeconds` of each ring, for the response headers. */
export function noteLevels({ rings }: Account, now: number): void {
  for (const ring of rings) noteLevel(ring, now);
}

/**
 * Returns a ring with the same requests for a limit with the same window and perhaps another quota. While the window has more
 * requests than the new quota, the layout stays and nothing is admitted. Once they fit, they are laid out for the new quota, so
 * that counting is as exact as in a new ring. A request may then count as newer than it is, by up to the length of one group, but
 * never as older, so that too many requests are never admitted.
 */
function refitRing(ring: Ring, limit: RateLimit, now: number): Ring {
  const used = usedAt(ring, now);
  if (ring.capacity === limit.quota || used > limit.quota) return { ...ring, quota: limit.quota };
  const refitted = createRing(limit);
  const groups = Math.ceil(used / refitted.groupSize);
  fitRing(refitted, groups);
  for (let group = 0; group < groups; group++) {
    const last = ring.tail * ring.groupSize + Math.min((group + 1) * refitted.groupSize, used) - 1;
    const former = Math.floor(last / ring.groupSize);
    refitted.stamps[group % refitted.stamps.length] = ring.stamps[former % ring.stamps.length] as number;
  }
  refitted.head = used;
  refitted.newestStep = ring.newestStep;
  return refitted;
}
