import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { type Accounts, restoreAccounts } from './accounts.ts';
import { addToLog, type QuotaLog, readLog } from './file/log.ts';
import type { SavedAccount } from './file/row.ts';
import { openQuotaStore, type QuotaStore, quotaPath } from './file/store.ts';
import { limitsTime, startTimeline, type Timeline } from './time.ts';

// The ledger keeps spent quotas across restarts. Every 0.8 s it appends the changed accounts to the log in the quota file
// (`file/log.ts`). The saving thread writes the file; a thread of the runtime then flushes it to disk.

/** Writes a sentence to the operator's log, with its cause, if any. */
export type Report = (level: 'info' | 'warn' | 'error', sentence: string, cause?: unknown) => void;

/** Saves accounts to the quota file, and restores them from it. */
export type Ledger = {
  /** The time of the limits, in milliseconds since 1970 (`time.ts`). */
  readonly now: () => number;
  readonly timeline: Timeline;
  readonly accounts: Accounts;
  readonly open: (isRecreated: boolean) => QuotaStore;
  readonly report: Report;
  /** Null while the file can't be opened. */
  log: QuotaLog | null;
  /** True from a reported failure until the next successful write. */
  isFailing: boolean;
  timer: Timer | null;
  readonly watch: Timer;
  /** True once the file was lost and recreated while this server ran. */
  isRecreated: boolean;
  sweptAt: number;
};

/** Including the time of a write, a crash loses less than a second of spending. */
const SAVE_EVERY_MS = 800;

/** How many accounts one write saves; this thread answers no requests during its few milliseconds. */
const MAX_SAVED = 500;

const RETRY_EVERY_MS = 5_000;

/** How often the ledger checks that the file still exists, even if no key is used. */
const WATCH_EVERY_MS = 5_000;

const SWEEP_EVERY_MS = 60_000;

/** Opens the ledger of a main database and restores the saved accounts. If that fails, each save tries again. */
export function openLedger(databasePath: string, clock: Clock, report: Report, accounts: Accounts): Ledger {
  const open = (isRecreated: boolean) => openQuotaStore(quotaPath(databasePath), clock.nowMs(), isRecreated);
  let store: QuotaStore | null = null;
  try {
    store = open(false);
  } catch (error) {
    report('error', 'The quota file cannot be opened; quotas are only kept in memory.', error);
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
    isRecreated: false,
    sweptAt: 0,
  };
  try {
    if (store !== null) useStore(ledger, store);
  } catch (error) {
    // A dead thread holds a lock; the next save restores the accounts.
    if (!isBusy(error)) throw error;
  }
  if (accounts.mayHaveChanged()) scheduleSave(ledger);
  return ledger;
}

/** Restores the accounts of a store, and saves to it from now on. If a lock is held, closes it and throws `busy`. */
function useStore(ledger: Ledger, store: QuotaStore): QuotaLog {
  const { accounts, report } = ledger;
  try {
    for (const key of restoreAccounts(accounts, readLog(store), ledger.now())) {
      report('error', `The used quotas of key ${key} are lost: there is no memory left for its rate limits.`);
    }
  } catch (error) {
    store.close();
    throw error;
  }
  if (store.setAside !== null) {
    const effect = ledger.isRecreated ? 'a new one was written from memory' : 'all quotas are unused again';
    report('warn', `The quota file was unreadable and was renamed to ${store.setAside}; ${effect}.`);
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
    const count = write(ledger, MAX_SAVED);
    if (count !== null && (count > 0 || ledger.isFailing)) void sync(ledger);
    if (!ledger.accounts.mayHaveChanged()) return;
    const pause = count === MAX_SAVED ? 1 : SAVE_EVERY_MS;
    ledger.timer = schedule(ledger, ledger.isFailing ? RETRY_EVERY_MS : pause);
  }, delayMs).unref();
}

/** Writes all changed accounts. Resolves once they are on disk or the failure was reported. Never rejects. */
export async function saveLedger(ledger: Ledger): Promise<void> {
  if (write(ledger, Number.POSITIVE_INFINITY) !== null) await sync(ledger);
}

/**
 * Appends the changes of at most `max` accounts to the file. With `isLast` a row is written even without changes, because each
 * row stores the time. Returns the number of changed accounts, or null if the file can't be written, which is reported once.
 */
function write(ledger: Ledger, max: number, isLast = false): number | null {
  const { accounts } = ledger;
  let taken: readonly SavedAccount[] = [];
  try {
    sweep(ledger);
    if (isLost(ledger)) leaveFile(ledger);
    taken = accounts.takeChanged(max);
    const log = ledger.log ?? useStore(ledger, ledger.open(ledger.isRecreated));
    if (taken.length > 0 || isLast) addToLog(log, accounts, taken, ledger.now);
  } catch (error) {
    accounts.noteTaken(taken, false);
    // `busy`: a dead thread holds a lock, which is freed before the next save.
    if (!isBusy(error)) reportFault(ledger, error);
    return null;
  }
  accounts.noteTaken(taken, true);
  return taken.length;
}

/** Whether somebody moved, deleted or replaced the file, so that writes to it would be lost at the next start. */
function isLost({ log }: Ledger): boolean {
  return log !== null && !log.store.isInPlace();
}

function leaveFile(ledger: Ledger): void {
  const { log, accounts, report } = ledger;
  ledger.log = null;
  ledger.isRecreated = true;
  accounts.forgetSaved();
  report('warn', "The quota file was moved, deleted or replaced; it is recreated from this server's memory.");
  try {
    log?.store.close();
  } catch {
    // Its contents are no longer needed.
  }
}

function reportSuccess(ledger: Ledger): void {
  if (ledger.isFailing) ledger.report('info', 'Quotas can be written again.');
  ledger.isFailing = false;
}

function reportFault(ledger: Ledger, error: unknown): void {
  if (!ledger.isFailing) ledger.report('error', 'Quotas cannot be written; they are only kept in memory.', error);
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

/** Writes all changed accounts, waits for the disk, and closes the file. Reports failures instead of throwing them. */
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
