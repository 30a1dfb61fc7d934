import { type Entry, readRow, rowsOf, type SavedAccount } from './row.ts';
import type { QuotaStore } from './store.ts';

// A save appends rows to the log in the quota file. To keep the log short, it also deletes the oldest rows, and rewrites the
// accounts that still depend on them at the end. It may rewrite as many bytes as were newly written, so the log is at most about
// twice as long as the accounts in use.

/** The log of an open quota file. */
export type QuotaLog = {
  readonly store: QuotaStore;
  /** The number of the latest row. */
  lastRow: number;
  /** How many bytes may be rewritten; negative if more bytes were rewritten than newly written. */
  credit: number;
};

/** How a save finds accounts that depend on old rows, and marks accounts as written. */
export type LoggedAccounts = {
  /**
   * Returns the account of a key if its saved state starts in this row or before, otherwise undefined; null if a thread holds the
   * account's lock and does not release it.
   */
  beginningWith: (row: number, identifier: string) => SavedAccount | undefined | null;
  /** Records that the account was saved in this state, which starts in row `firstRow`. */
  noteWritten: (account: SavedAccount, firstRow: number) => void;
};

/** A save rewrites no further row once it has this many accounts to rewrite. */
const MAX_REWRITTEN = 100;

/** The newest rows, which are never rewritten, so that a short log causes little writing. */
const MIN_ROWS = 64;

/** Reads all rows of a file and returns the accounts by identifier. */
export function readLog(store: QuotaStore): Map<string, SavedAccount> {
  const accounts = new Map<string, SavedAccount>();
  for (const row of store.rows()) readRow(row, accounts);
  return accounts;
}

/**
 * Appends rows with the changed accounts, and deletes the oldest rows. `now` returns the time to store in the rows. Throws,
 * without any change, if the file can't be written.
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
  // The time is read as late as this: other threads may have spent while the accounts were copied, and no request in a row may
  // be newer than the row's time.
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

/** Finds the accounts to rewrite, because they depend on the oldest rows, and the first row to keep. */
function oldAccounts({ store, lastRow, credit }: QuotaLog, accounts: LoggedAccounts) {
  const kept = new Map<string, SavedAccount>();
  let keptFrom = 0;
  for (const { seq, identifiers } of store.oldestRows()) {
    const isEnough = credit <= 0 || kept.size >= MAX_REWRITTEN || seq > lastRow - MIN_ROWS;
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
