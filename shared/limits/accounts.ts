import { isUnused } from './account.ts';
import type { LoggedAccounts } from './file/log.ts';
import type { SavedAccount } from './file/row.ts';
import type { Ring } from './ring.ts';

/** The accounts that a ledger saves, in the memory of one thread or in memory that several threads share. */
export type Accounts = LoggedAccounts & {
  /** False if certainly no account has changed, so that no save is needed. */
  mayHaveChanged: () => boolean;
  /** Returns at most `most` of the accounts that have changed since they were last taken, the longest waiting first. */
  takeChanged: (most: number) => readonly SavedAccount[];
  /** Tells whether the accounts from `takeChanged` were written to the file; if not, they count as changed again. */
  noteTaken: (taken: readonly SavedAccount[], isSaved: boolean) => void;
  /**
   * Adds an account from the file, unless it is there. Returns false without memory for it. Throws `busy` while a
   * thread that died holds a lock.
   */
  restore: (identifier: string, rings: readonly Ring[], firstRow: number) => boolean;
  /** Drops the accounts that have no request left in any window. */
  dropUnused: (now: number) => void;
  /** Marks all accounts as changed, and as being in no file: the next saves write them whole. */
  forgetSaved: () => void;
};

/** Adds the accounts of a file that hold requests at `now`, and returns the identifiers for which there is no memory. */
export function restoreAccounts(accounts: Accounts, saved: ReadonlyMap<string, SavedAccount>, now: number): string[] {
  const used = [...saved.values()].filter(({ rings }) => !isUnused(rings, now));
  const refused = used.filter(({ identifier, rings, firstRow }) => !accounts.restore(identifier, rings, firstRow));
  return refused.map(({ identifier }) => identifier);
}
