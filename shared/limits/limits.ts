import type { Account, LimitedKey } from './account.ts';

/**
 * What everybody has used of their rate limits, and whether a request still fits. One per database, and one in each thread
 * that answers requests. `openLimits` makes it where one thread answers, `joinLimits` where several do.
 */
export type Limits = {
  /**
   * The account of a key, found or made, for the key's limits as they are now; `key.account` is then the same. Where the
   * limits were changed, what was spent in a window of the same length counts on, and a new window begins empty.
   */
  accountOf: (key: LimitedKey) => Account;
  /**
   * Spends `count` requests of each limit now, of all of them or of none. Returns null where they were admitted; otherwise
   * the milliseconds after which these `count` would be, Infinity where that is more than a quota. The account's rings
   * then say where each limit stands. Throws `busy` where there is no memory for the account, or a thread that died
   * still holds it.
   */
  spend: (account: Account, count: number) => number | null;
  /** Brings what the account's rings say up to now without spending. Throws `busy` as `spend` does. */
  look: (account: Account) => void;
  /** Writes down what has changed; it is written by itself every 0.8 s too. Resolves when it is on the disk. Never throws. */
  save: () => Promise<void>;
  /** Writes everything down, waits until it is on the disk and closes the file. */
  close: () => void;
};
