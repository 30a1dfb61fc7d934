import type { Account, LimitedKey } from './account.ts';

/**
 * The rate limits of all keys, made by `openLimits`.
 */
export type Limits = {
  /**
   * Finds or makes the account of a key for its current limits, and caches it in `key.account`. After a change of limits,
   * requests in a window of the same length still count, even if that limit was removed for a while; a window of a new length
   * starts empty.
   */
  accountOf: (key: LimitedKey) => Account;
  /**
   * Spends `count` requests of every limit, or of none if one of them lacks room. Returns null if they were admitted; otherwise
   * the milliseconds until `count` requests fit, or Infinity if `count` exceeds a quota. Updates `remaining` and `resetSeconds`
   * of the account's rings. Throws `busy` if there is no memory for the account, or a dead thread holds its lock.
   */
  spend: (account: Account, count: number) => number | null;
  /** Updates `remaining` and `resetSeconds` of the account's rings without spending. Throws `busy` as `spend` does. */
  look: (account: Account) => void;
  /** Saves all changes now; they are saved automatically every 0.8 s. Resolves when they are on disk. Never rejects. */
  save: () => Promise<void>;
  /** Saves all changes, waits until they are on disk, and closes the file. */
  close: () => void;
};
