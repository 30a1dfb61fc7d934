import { isUnused } from './account.ts';
import type { LoggedAccounts } from './file/log.ts';
import type { SavedAccount } from './file/row.ts';
import type { Ring } from './ring.ts';

/** The accounts that a ledger saves, in the memory of one thread or in shared memory. */
export type Accounts = LoggedAccounts & {
  /** False only if no account has changed, so that no save is needed. */
  mayHaveChanged: () => boolean;
  /** Returns at most `max` accounts that have changed since they were last taken, the longest waiting first. */
  takeChanged: (max: number) => readonly SavedAccount[];
  /** Called after accounts from `takeChanged` were written; if that failed, they count as changed again. */
  noteTaken: (taken: readonly SavedAccount[], isSaved: boolean) => void;
  /**
   * Adds an account from the file, unless it exists. Returns false if there is no memory for it. Throws `busy` while a dead
   * thread holds a lock.
   */
  restore: (identifier: string, rings: readonly Ring[], firstRow: number) => boolean;
  /** Drops the accounts whose windows are empty. */
  dropUnused: (now: number) => void;
  /** Marks all accounts as changed and unsaved: the next saves write them whole. */
  forgetSaved: () => void;
};

/** Adds the accounts of a file that are in use at `now`. Returns the identifiers for which there is no memory. */
export function restoreAccounts(accounts: Accounts, saved: ReadonlyMap<string, SavedAccount>, now: number): string[] {
  const used = [...saved.values()].filter(({ rings }) => !isUnused(rings, now));
  const refused = used.filter(({ identifier, rings, firstRow }) => !accounts.restore(identifier, rings, firstRow));
  return refused.map(({ identifier }) => identifier);
}
