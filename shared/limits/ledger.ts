import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { isUnused } from './account.ts';
import { addToLog, type LoggedAccounts, type QuotaLog, readLog } from './file/log.ts';
import type { SavedAccount } from './file/row.ts';
import { openQuotaStore, type QuotaStore, quotaPath } from './file/store.ts';
import type { Ring } from './ring.ts';
import { limitsTime, startTimeline, type Timeline } from './time.ts';

// How limits outlive the process. Every 0.8 s the ledger adds what has changed since the last save to the log in the quota
// file (`file/log.ts`). That is written by the thread that saves, but brought to the disk by another one.

/** Where the accounts lie that a ledger saves: in the memory of one thread, or in memory that several threads share. */
export type Accounts = LoggedAccounts & {
  /** False where nothing can have changed, so that no save is due. */
  mayHaveChanged: () => boolean;
  /** At most so many of the accounts that have changed since they were last taken, those first that wait longest. */
  takeChanged: (most: number) => readonly SavedAccount[];
  /** Told whether those that were taken are in the file now; where they are not, they have changed still. */
  noteTaken: (taken: readonly SavedAccount[], isSaved: boolean) => void;
  /**
   * Puts in an account from the file; nothing happens where there is one already. False where there is no memory for it.
   * Throws `busy` where a thread that died holds the memory.
   */
  restore: (identifier: string, rings: readonly Ring[], firstRow: number) => boolean;
  /** Drops the accounts whose every request has left its window: they are as good as new. */
  dropUnused: (now: number) => void;
};

/** Takes what an operator should know. */
export type Report = (level: 'info' | 'warn' | 'error', sentence: string, cause?: unknown) => void;

/** Saves accounts to the quota file, and restores them from it. */
export type Ledger = {
  /** The time by which limits are counted, milliseconds since 1970. */
  readonly now: () => number;
  readonly timeline: Timeline;
  readonly accounts: Accounts;
  readonly open: () => QuotaStore;
  readonly report: Report;
  /** Null while the file can't be opened. */
  log: QuotaLog | null;
  /** Whether the operator was told that the file can't be written. */
  isFailing: boolean;
  timer: Timer | null;
  sweptAt: number;
};

/** With the time of one write, less than a second of what was spent is lost when the program dies. */
const SAVE_EVERY_MS = 800;

/** So many accounts are written at once, which takes a few milliseconds in which no request is answered. The rest follows. */
const SAVE_AT_ONCE = 500;

/** How long the ledger waits before it tries again to write a file that could not be written. */
const RETRY_EVERY_MS = 5_000;

/** How often accounts that are as good as new are dropped. */
const SWEEP_EVERY_MS = 60_000;

/** Opens the ledger beside a main database, and restores into `accounts` what an earlier run has left. */
export function openLedger(databasePath: string, clock: Clock, report: Report, accounts: Accounts): Ledger {
  const open = () => openQuotaStore(quotaPath(databasePath), clock.nowMs());
  const store = attempt(open, report);
  const timeline = startTimeline(clock, store?.lastTime ?? 0);
  const now = limitsTime(clock, timeline);
  const ledger: Ledger = {
    now,
    timeline,
    accounts,
    open,
    report,
    log: null,
    isFailing: store === null,
    timer: null,
    sweptAt: 0,
  };
  try {
    if (store !== null) useStore(ledger, store);
  } catch (error) {
    // It is tried again at the next save.
    if (!isBusy(error)) throw error;
  }
  if (accounts.mayHaveChanged()) scheduleSave(ledger);
  return ledger;
}

function attempt(open: () => QuotaStore, report: Report): QuotaStore | null {
  try {
    return open();
  } catch (error) {
    report('error', 'The quota file can not be opened; quotas hold until the server stops.', error);
    return null;
  }
}

/** Restores the accounts of a store, and saves to it from now on. Throws `busy`, and closes it, where memory is held. */
function useStore(ledger: Ledger, store: QuotaStore): QuotaLog {
  const { accounts, report } = ledger;
  try {
    const now = ledger.now();
    for (const { identifier, rings, firstRow } of readLog(store).values()) {
      if (isUnused(rings, now) || accounts.restore(identifier, rings, firstRow)) continue;
      report('error', `What key ${identifier} has used is forgotten: there is no memory left for its rate limits.`);
    }
  } catch (error) {
    store.close();
    throw error;
  }
  if (store.setAside !== null) {
    report('warn', `The quota file was unreadable and is now ${store.setAside}; quotas are full.`);
  }
  ledger.log = { store, lastRow: store.lastRow, credit: 0 };
  return ledger.log;
}

function isBusy(error: unknown): boolean {
  return error instanceof AppError && error.code === 'busy';
}

/** Sees to it that what has changed is saved within 0.8 s. */
export function scheduleSave(ledger: Ledger): void {
  ledger.timer ??= schedule(ledger, SAVE_EVERY_MS);
}

function schedule(ledger: Ledger, delayMs: number): Timer {
  return setTimeout(() => {
    ledger.timer = null;
    const count = write(ledger, SAVE_AT_ONCE);
    if (count !== null && (count > 0 || ledger.isFailing)) void sync(ledger);
    if (!ledger.accounts.mayHaveChanged()) return;
    const pause = count === SAVE_AT_ONCE ? 1 : SAVE_EVERY_MS;
    ledger.timer = schedule(ledger, ledger.isFailing ? RETRY_EVERY_MS : pause);
  }, delayMs).unref();
}

/** Writes down what has changed. Resolves when it is on the disk, or when it was reported that it can't be written. */
export async function saveLedger(ledger: Ledger): Promise<void> {
  if (write(ledger, Number.POSITIVE_INFINITY) !== null) await sync(ledger);
}

/**
 * Adds what has changed of `most` accounts to the file; `isLast` adds a row even if nothing has, for the time that it
 * holds. Returns how many accounts had changed, or null where the file can't be written, which is reported once.
 */
function write(ledger: Ledger, most: number, isLast = false): number | null {
  const { accounts } = ledger;
  let taken: readonly SavedAccount[] = [];
  try {
    sweep(ledger);
    taken = accounts.takeChanged(most);
    const log = ledger.log ?? useStore(ledger, ledger.open());
    if (taken.length > 0 || isLast) addToLog(log, accounts, taken, ledger.now);
  } catch (error) {
    accounts.noteTaken(taken, false);
    // A thread that died holds memory; its locks are freed before the next save.
    if (!isBusy(error)) reportFault(ledger, error);
    return null;
  }
  accounts.noteTaken(taken, true);
  return taken.length;
}

function reportSuccess(ledger: Ledger): void {
  if (ledger.isFailing) ledger.report('info', 'Quotas are written again.');
  ledger.isFailing = false;
}

function reportFault(ledger: Ledger, error: unknown): void {
  if (!ledger.isFailing) ledger.report('error', 'Quotas can not be written; they hold until the server stops.', error);
  ledger.isFailing = true;
}

function sweep(ledger: Ledger): void {
  const now = ledger.now();
  if (now - ledger.sweptAt < SWEEP_EVERY_MS) return;
  ledger.sweptAt = now;
  ledger.accounts.dropUnused(now);
}

async function sync(ledger: Ledger): Promise<void> {
  try {
    await ledger.log?.store.sync();
    reportSuccess(ledger);
  } catch (error) {
    reportFault(ledger, error);
  }
}

/** Writes everything down, waits until it is on the disk and closes the file. */
export function closeLedger(ledger: Ledger): void {
  if (ledger.timer !== null) clearTimeout(ledger.timer);
  ledger.timer = null;
  const isWritten = write(ledger, Number.POSITIVE_INFINITY, true) !== null;
  try {
    ledger.log?.store.close();
    if (isWritten) reportSuccess(ledger);
  } catch (error) {
    reportFault(ledger, error);
  }
  ledger.log = null;
}
