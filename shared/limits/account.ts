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

/**
 * The requests that one key has spent: a ring buffer for each of its limits, in the order in which the limits were
 * granted.
 */
export type Account = {
  readonly identifier: string;
  readonly limits: readonly RateLimit[];
  /** The constant parts of the `RateLimit` response headers for these limits. */
  readonly texts: LimitTexts;
  rings: readonly Ring[];
  /** What was spent of limits that the key had before, as long as it lies in their windows: a limit may come back. */
  former: readonly Ring[];
  /** False while the layout of a ring is still that of an earlier quota of its limit. */
  isFitted: boolean;
  /**
   * The number of the oldest row in the quota file that this account's saved state depends on; 0 if the whole account
   * has to be written.
   */
  firstRow: number;
  /** True while requests were spent that are not in the quota file yet. */
  isChanged: boolean;
  /**
   * True once the account was removed or replaced by another object; a {@link LimitedKey} then has to look its account
   * up again.
   */
  isDropped: boolean;
};

/** The most rings of an account: one for each limit of the key and, after a change, those of former limits still in use. */
export const MAX_RINGS = 2 * RATE_LIMIT_BOUNDS.maxPerKey;

/** Makes an account. `rings` must be in the same order as `limits`. */
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

/** True if two lists hold equal rate limits in the same order. */
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
 * Returns a ring for each limit. Requests spent in a window of the same length are taken over from `rings`, even if the
 * quota has changed; a window of another length starts empty. `now` is in milliseconds.
 */
export function refitRings(limits: readonly RateLimit[], rings: readonly Ring[], now: number): Ring[] {
  return limits.map((limit) => {
    const former = rings.find(({ windowMs }) => windowMs === limit.windowSeconds * 1000);
    return former === undefined ? createRing(limit) : refitRing(former, limit, now);
  });
}

/**
 * The rings among `rings` whose windows none of the limits has, and which still hold requests: the longest windows first,
 * and no more than an account may have beside its limits.
 */
export function formerRings(limits: readonly RateLimit[], rings: readonly Ring[], now: number): Ring[] {
  const others = rings.filter(({ windowMs }) => limits.every(({ windowSeconds }) => windowMs !== windowSeconds * 1000));
  const used = others.filter((ring) => usedAt(ring, now) > 0);
  return used.sort((one, other) => other.windowMs - one.windowMs).slice(0, MAX_RINGS - limits.length);
}

/** True if the layout of every ring matches the quota of its limit. */
export function areFitted(rings: readonly Ring[]): boolean {
  return rings.every(({ quota, capacity }) => quota === capacity);
}

/** True if no request is left in any window at `now`, so that the account can be dropped. */
export function isUnused(rings: readonly Ring[], now: number): boolean {
  return rings.every((ring) => usedAt(ring, now) === 0);
}

/** True if some ring has an outdated layout, and few enough requests to be laid out for its quota now. */
export function canRefit(rings: readonly Ring[], now: number): boolean {
  return rings.some((ring) => ring.capacity !== ring.quota && usedAt(ring, now) <= ring.quota);
}

/** Stores `remaining` and `resetSeconds` of each limit at `now` in its ring, for the response headers. */
export function noteLevels({ rings }: Account, now: number): void {
  for (const ring of rings) noteLevel(ring, now);
}

/**
 * Returns a ring with the same requests for a limit of the same window and perhaps another quota. While the window
 * holds more requests than the new quota, the layout stays as it is and nothing is admitted. Once the requests fit,
 * they are laid out for the new quota, so that counting is as exact as in a new ring. A request may then count as newer
 * than it is, by up to the length of one group, but never as older, so never a request too many is admitted.
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
