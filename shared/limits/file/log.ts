import { type Entry, readRow, rowsOf, type SavedAccount } from './row.ts';
import type { QuotaStore } from './store.ts';

// The log in the quota file. A save adds rows at its end. So that it stays short, a save also takes away its oldest rows: what
// only they say of an account that is still in use is written anew at the end. As much may be written anew as was newly
// written, so the log is at most about twice as long as what is in use.

/** The log of an open quota file. */
export type QuotaLog = {
  readonly store: QuotaStore;
  /** The number of the latest row. */
  lastRow: number;
  /** How many bytes may be written anew; below 0 where it were more. */
  credit: number;
};

/** What a save asks of the accounts, and tells them. */
export type LoggedAccounts = {
  /**
   * The account of a key, if what the file says of it begins with this row, which is the oldest, and not later; else
   * undefined. Null where a thread holds the account and does not go on.
   */
  beginningWith: (row: number, identifier: string) => SavedAccount | undefined | null;
  /** Told that an account is in the file as it is here, and with which row of the file begins what holds of it. */
  noteWritten: (account: SavedAccount, firstRow: number) => void;
};

/** So many accounts of old rows are written anew in one save at most, but for those of one row. */
const REWRITE_AT_ONCE = 100;

/** What only so many of the newest rows say is left there, so that little is written anew while little is in use. */
const MIN_ROWS = 64;

/** The accounts as all rows of a file leave them, by identifier. */
export function readLog(store: QuotaStore): Map<string, SavedAccount> {
  const accounts = new Map<string, SavedAccount>();
  for (const row of store.rows()) readRow(row, accounts);
  return accounts;
}

/**
 * Adds rows with what has changed, and takes away the oldest. `now` tells the time that the rows get. Throws where the file
 * can't be written; nothing has happened then.
 */
export function addToLog(
  log: QuotaLog,
  accounts: LoggedAccounts,
  changed: readonly SavedAccount[],
  now: () => number,
): void {
  const { kept, keptFrom } = oldAccounts(log, accounts);
  const entries = changed.map((account): Entry => {
    const isKept = kept.delete(account.identifier);
    return { account, isWhole: isKept || account.firstRow === 0 };
  });
  for (const account of kept.values()) entries.push({ account, isWhole: true });
  // The time is asked for only now: other threads may have spent while the accounts were read, and no row may be older.
  const rows = rowsOf(entries, log.lastRow + 1, now());
  const bare = rows.map(({ row }) => row);
  log.store.save(bare, keptFrom);
  log.lastRow += rows.length;
  for (const { row, entries } of rows) {
    for (const { account, isWhole, bytes } of entries) {
      log.credit += isWhole && account.firstRow !== 0 ? -bytes : bytes;
      accounts.noteWritten(account, isWhole ? row.seq : account.firstRow);
    }
  }
}

/** The accounts for which the oldest rows are needed, and the first row that stays. */
function oldAccounts({ store, lastRow, credit }: QuotaLog, accounts: LoggedAccounts) {
  const kept = new Map<string, SavedAccount>();
  let keptFrom = 0;
  for (const { seq, identifiers } of store.oldestRows()) {
    const isEnough = credit <= 0 || kept.size >= REWRITE_AT_ONCE || seq > lastRow - MIN_ROWS;
    const needed: SavedAccount[] = [];
    for (const identifier of identifiers.split(' ')) {
      const account = accounts.beginningWith(seq, identifier);
      if (account === null || (account && isEnough)) return { kept, keptFrom };
      if (account) needed.push(account);
    }
    for (const account of needed) kept.set(account.identifier, account);
    keptFrom = seq + 1;
  }
  return { kept, keptFrom };
}
