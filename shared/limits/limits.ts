import type { Account, LimitedKey } from './account.ts';

/**
 * What all keys have spent of their rate limits, and whether another request fits. Each thread that answers requests
 * has one object for its database: `openLimits` makes it if one thread answers, `joinLimits` if several do.
 */
export type Limits = {
  /**
   * Finds or makes the account of a key for its current limits, and caches it in `key.account`. After a change of
   * limits, requests spent in a window of the same length still count, even if that limit was removed for a while; a
   * window of a new length starts empty.
   */
  accountOf: (key: LimitedKey) => Account;
  /**
   * Spends `count` requests of every limit, or of none if one of the limits lacks room. Returns null if they were
   * admitted; otherwise the milliseconds until `count` requests fit, or Infinity if `count` exceeds a quota. Afterwards
   * `remaining` and `resetSeconds` of the account's rings are current. Throws `busy` if there is no memory for the
   * account, or a thread that died still holds its lock.
   */
  spend: (account: Account, count: number) => number | null;
  /** Updates `remaining` and `resetSeconds` of the account's rings without spending. Throws `busy` as `spend` does. */
  look: (account: Account) => void;
  /**
   * Saves all changes now; they are also saved by themselves every 0.8 s. Resolves when they are on the disk. Never
   * rejects.
   */
  save: () => Promise<void>;
  /** Saves all changes, waits until they are on the disk, and closes the file. */
  close: () => void;
};
