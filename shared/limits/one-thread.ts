import type { Clock } from '../clock.ts';
import {
  type Account,
  areFitted,
  areSameLimits,
  canRefit,
  formerRings,
  isUnused,
  type LimitedKey,
  newAccount,
  noteLevels,
  refitRings,
} from './account.ts';
import type { Accounts } from './accounts.ts';
import { closeLedger, type Ledger, openLedger, type Report, saveLedger, scheduleSave } from './ledger.ts';
import type { Limits } from './limits.ts';
import type { RateLimit } from './rate-limit.ts';
import { type Ring, record, waitForAllMs } from './ring.ts';

type Book = {
  readonly accounts: Map<string, Account>;
  /** The accounts with unsaved changes, in the order in which they changed. */
  changed: Account[];
  /** The limits of restored accounts by their text, since accounts with equal limits share one array. */
  readonly lists: Map<string, readonly RateLimit[]>;
};

type OneThread = { readonly book: Book; readonly ledger: Ledger };

/**
 * Opens the limits of a database for a server with one answering thread, and restores the quota file beside the database. If the
 * file can't be used, it calls `report` and counts requests only in memory.
 */
export function openLimits(databasePath: string, clock: Clock, report: Report): Limits {
  const book: Book = { accounts: new Map(), changed: [], lists: new Map() };
  const ledger = openLedger(databasePath, clock, report, accountsIn(book));
  const state = { book, ledger };
  return {
    accountOf: (key) => accountOf(state, key),
    spend: (account, count) => spend(state, account, count),
    look: (account) => look(state, account),
    save: () => saveLedger(ledger),
    close: () => closeLedger(ledger),
  };
}

function accountOf(state: OneThread, key: LimitedKey): Account {
  if (key.account === undefined || key.account.isDropped) key.account = findAccount(state, key);
  return key.account;
}

function findAccount(state: OneThread, { identifier, rateLimits }: LimitedKey): Account {
  const { book, ledger } = state;
  const known = book.accounts.get(identifier);
  if (known !== undefined && areSameLimits(known.limits, rateLimits)) return known;
  const now = ledger.now();
  const before = known === undefined ? [] : [...known.rings, ...known.former];
  const rings = refitRings(rateLimits, before, now);
  const account = newAccount(identifier, rateLimits, rings, formerRings(rateLimits, before, now));
  book.accounts.set(identifier, account);
  if (known !== undefined) {
    known.isDropped = true;
    book.changed = book.changed.filter((one) => one !== known);
    markChanged(state, account);
  }
  return account;
}

function spend(state: OneThread, account: Account, count: number): number | null {
  const now = state.ledger.now();
  if (!account.isFitted) refit(state, account, now);
  const wait = waitForAllMs(account.rings, now, count);
  if (wait === null) {
    for (const ring of account.rings) record(ring, now, count);
    if (!account.isChanged) markChanged(state, account);
  }
  noteLevels(account, now);
  return wait;
}

function look(state: OneThread, account: Account): void {
  const now = state.ledger.now();
  if (!account.isFitted) refit(state, account, now);
  noteLevels(account, now);
}

function refit(state: OneThread, account: Account, now: number): void {
  if (!canRefit(account.rings, now)) return;
  account.rings = refitRings(account.limits, account.rings, now);
  account.isFitted = areFitted(account.rings);
  // The saved positions belong to the former layout, so the whole account has to be written again.
  account.firstRow = 0;
  if (!account.isChanged) markChanged(state, account);
}

function markChanged({ book, ledger }: OneThread, account: Account): void {
  account.isChanged = true;
  book.changed.push(account);
  scheduleSave(ledger);
}

function accountsIn(book: Book): Accounts {
  return {
    mayHaveChanged: () => book.changed.length > 0,
    takeChanged: (max) => book.changed.slice(0, max),
    noteTaken: (taken, isSaved) => {
      if (!isSaved) return;
      for (const account of taken as readonly Account[]) account.isChanged = false;
      book.changed.splice(0, taken.length);
    },
    noteWritten: (account, firstRow) => {
      account.firstRow = firstRow;
      for (const ring of account.rings) ring.savedHead = ring.head;
    },
    beginningWith: (row, identifier) => {
      const account = book.accounts.get(identifier);
      return account !== undefined && account.firstRow !== 0 && account.firstRow <= row ? account : undefined;
    },
    restore: (identifier, rings, firstRow) => {
      if (!book.accounts.has(identifier)) restore(book, identifier, rings, firstRow);
      return true;
    },
    dropUnused: (now) => dropUnused(book, now),
    forgetSaved: () => {
      for (const account of book.accounts.values()) {
        account.firstRow = 0;
        account.isChanged = true;
      }
      book.changed = [...book.accounts.values()];
    },
  };
}

function restore({ accounts, lists }: Book, identifier: string, rings: readonly Ring[], firstRow: number): void {
  const name = rings.map(({ quota, windowMs }) => `${quota}/${windowMs}`).join();
  const limits = lists.get(name) ?? rings.map(({ quota, windowMs }) => ({ quota, windowSeconds: windowMs / 1000 }));
  lists.set(name, limits);
  const account = newAccount(identifier, limits, rings);
  account.firstRow = firstRow;
  accounts.set(identifier, account);
}

function dropUnused(book: Book, now: number): void {
  for (const [identifier, account] of book.accounts) {
    if (!isUnused(account.rings, now) || !isUnused(account.former, now)) continue;
    account.isDropped = true;
    book.accounts.delete(identifier);
  }
  book.changed = book.changed.filter(({ isDropped }) => !isDropped);
}
