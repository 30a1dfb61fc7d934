import type { Clocks } from '../clock.ts';
import { AppError } from '../errors.ts';
import { type Accounts, restoreAccounts } from './accounts.ts';
import { addToLog, type QuotaLog, readLog } from './file/log.ts';
import type { SavedAccount } from './file/row.ts';
import { openQuotaStore, type QuotaStore, quotaPath } from './file/store.ts';
import { limitsTime, startTimeline, type Timeline } from './time.ts';

// The ledger keeps what keys have spent across restarts. Every 0.8 s it appends the changed accounts to the log in the
// quota file (`file/log.ts`). The thread that saves writes the file; a thread of the runtime then flushes the file to
// the disk.

/** Writes a sentence to the operator's log, with the error that caused it if there is one. */
export type Report = (level: 'info' | 'warn' | 'error', sentence: string, cause?: unknown) => void;

/** Saves accounts to the quota file, and restores them from it. */
export type Ledger = {
  /** The time that limits are counted by, in milliseconds since 1970 (`time.ts`). */
  readonly now: () => number;
  readonly timeline: Timeline;
  readonly accounts: Accounts;
  readonly open: (isRemade: boolean) => QuotaStore;
  readonly report: Report;
  /** Null while the file can't be opened. */
  log: QuotaLog | null;
  /** True after the operator was told that the file can't be written, until a write succeeds. */
  isFailing: boolean;
  timer: Timer | null;
  readonly watch: Timer;
  /** True once the file was lost while this server ran, and made again. */
  isRemade: boolean;
  sweptAt: number;
};

/** How long changes wait for a save. With the time of a write, a crash loses less than a second of spending. */
const SAVE_EVERY_MS = 800;

/** How many accounts are written at once: this thread answers no request during the few milliseconds of a write. */
const SAVE_AT_ONCE = 500;

/** How long the ledger waits before it retries a failed write. */
const RETRY_EVERY_MS = 5_000;

/** How often the ledger checks that the file is still there, even if no key is used. */
const WATCH_EVERY_MS = 5_000;

/** How often accounts without any request left in a window are dropped. */
const SWEEP_EVERY_MS = 60_000;

/** Opens the ledger of a main database and restores what an earlier run saved. If that fails, each save tries again. */
export function openLedger(databasePath: string, clock: Clocks, report: Report, accounts: Accounts): Ledger {
  const open = (isRemade: boolean) => openQuotaStore(quotaPath(databasePath), clock.nowMs(), isRemade);
  let store: QuotaStore | null = null;
  try {
    store = open(false);
  } catch (error) {
    report('error', 'The quota file can not be opened; quotas hold until the server stops.', error);
  }
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
    watch: setInterval(() => isLost(ledger) && scheduleSave(ledger), WATCH_EVERY_MS).unref(),
    isRemade: false,
    sweptAt: 0,
  };
  try {
    if (store !== null) useStore(ledger, store);
  } catch (error) {
    // A thread that died holds a lock on the memory; the next save restores the accounts.
    if (!isBusy(error)) throw error;
  }
  if (accounts.mayHaveChanged()) scheduleSave(ledger);
  return ledger;
}

/** Restores the accounts of a store and saves to it from now on. Closes it and throws `busy` if a lock is held. */
function useStore(ledger: Ledger, store: QuotaStore): QuotaLog {
  const { accounts, report } = ledger;
  try {
    for (const key of restoreAccounts(accounts, readLog(store), ledger.now())) {
      report('error', `The spent requests of key ${key} are lost: there is no memory left for its rate limits.`);
    }
  } catch (error) {
    store.close();
    throw error;
  }
  if (store.setAside !== null) {
    const known = ledger.isRemade ? 'a new one has what the server knows' : 'quotas are full';
    report('warn', `The quota file was unreadable and is now ${store.setAside}; ${known}.`);
  }
  ledger.log = { store, lastRow: store.lastRow, credit: 0 };
  return ledger.log;
}

function isBusy(error: unknown): boolean {
  return error instanceof AppError && error.code === 'busy';
}

/** Schedules a save within 0.8 s. */
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

/** Writes all changed accounts. Resolves once they are on the disk or the failure was reported. Never rejects. */
export async function saveLedger(ledger: Ledger): Promise<void> {
  if (write(ledger, Number.POSITIVE_INFINITY) !== null) await sync(ledger);
}

/**
 * Appends the changes of at most `most` accounts to the file. With `isLast` a row is written even without changes,
 * because each row stores the time. Returns how many accounts had changed, or null if the file can't be written, which
 * is reported once.
 */
function write(ledger: Ledger, most: number, isLast = false): number | null {
  const { accounts } = ledger;
  let taken: readonly SavedAccount[] = [];
  try {
    sweep(ledger);
    if (isLost(ledger)) leaveFile(ledger);
    taken = accounts.takeChanged(most);
    const log = ledger.log ?? useStore(ledger, ledger.open(ledger.isRemade));
    if (taken.length > 0 || isLast) addToLog(log, accounts, taken, ledger.now);
  } catch (error) {
    accounts.noteTaken(taken, false);
    // `busy`: a thread that died holds a lock, which is freed before the next save.
    if (!isBusy(error)) reportFault(ledger, error);
    return null;
  }
  accounts.noteTaken(taken, true);
  return taken.length;
}

/** Whether somebody moved, deleted or replaced the file: what is written to it would be gone at the next start. */
function isLost({ log }: Ledger): boolean {
  return log !== null && !log.store.isInPlace();
}

function leaveFile(ledger: Ledger): void {
  const { log, accounts, report } = ledger;
  ledger.log = null;
  ledger.isRemade = true;
  accounts.forgetSaved();
  report('warn', "The quota file was moved, deleted or replaced; it is created again from this server's memory.");
  try {
    log?.store.close();
  } catch {
    // Nobody reads what it holds any more.
  }
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

/** Writes all changed accounts, waits for the disk, and closes the file. Failures are reported, not thrown. */
export function closeLedger(ledger: Ledger): void {
  if (ledger.timer !== null) clearTimeout(ledger.timer);
  ledger.timer = null;
  clearInterval(ledger.watch);
  const isWritten = write(ledger, Number.POSITIVE_INFINITY, true) !== null;
  try {
    ledger.log?.store.close();
    if (isWritten) reportSuccess(ledger);
  } catch (error) {
    reportFault(ledger, error);
  }
  ledger.log = null;
}
