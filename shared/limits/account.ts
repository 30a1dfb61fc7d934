import { type LimitTexts, limitTexts, type RateLimit } from './rate-limit.ts';
import { createRing, noteLevel, type Ring, refitRing, usedAt } from './ring.ts';

/** A key as far as its rate limits concern it. */
export type LimitedKey = {
  readonly identifier: string;
  /** One object for all keys that were granted the same. */
  readonly rateLimits: readonly RateLimit[];
  /** The key's account, once it was looked for. */
  account?: Account | undefined;
};

/** What a key has used of its rate limits: a ring for each limit, in the order in which they were granted. */
export type Account = {
  readonly identifier: string;
  readonly limits: readonly RateLimit[];
  /** The texts in which answers name these limits. */
  readonly texts: LimitTexts;
  rings: readonly Ring[];
  /** False while a ring is laid out for another quota than its limit's, which was changed. */
  isFitted: boolean;
  /** The row of the quota file with which begins what the file says of this account; 0 where nothing there counts. */
  firstRow: number;
  /** Whether something was spent that is not in the quota file yet. */
  isChanged: boolean;
  /** Whether the account was dropped, or another one has taken its place: {@link LimitedKey} has to be looked for again. */
  isDropped: boolean;
};

/** An account with these limits, whose rings are in the same order. */
export function newAccount(identifier: string, limits: readonly RateLimit[], rings: readonly Ring[]): Account {
  return {
    identifier,
    limits,
    texts: limitTexts(limits),
    rings,
    isFitted: areFitted(rings),
    firstRow: 0,
    isChanged: false,
    isDropped: false,
  };
}

/** True if two lists of rate limits are equal, in order too. */
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
 * Rings for these limits that take over what was spent in windows of the same lengths, whatever their quotas were. A
 * window that is not among `rings` begins empty.
 */
export function refitRings(limits: readonly RateLimit[], rings: readonly Ring[], now: number): Ring[] {
  return limits.map((limit) => {
    const former = rings.find(({ windowMs }) => windowMs === limit.windowSeconds * 1000);
    return former === undefined ? createRing(limit) : refitRing(former, limit, now);
  });
}

/** True if each ring is laid out for the quota of its limit. */
export function areFitted(rings: readonly Ring[]): boolean {
  return rings.every(({ quota, capacity }) => quota === capacity);
}

/** True if every request has left its window: the account is as good as new. */
export function isUnused(rings: readonly Ring[], now: number): boolean {
  return rings.every((ring) => usedAt(ring, now) === 0);
}

/** True if a ring could be laid out for its own quota now, which it is not yet. */
export function canRefit(rings: readonly Ring[], now: number): boolean {
  return rings.some((ring) => ring.capacity !== ring.quota && usedAt(ring, now) <= ring.quota);
}

/** Notes where each limit stands at `now`, for the answer. */
export function noteLevels({ rings }: Account, now: number): void {
  for (const ring of rings) noteLevel(ring, now);
}
