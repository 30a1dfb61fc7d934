import type { Clock } from '../clock.ts';
import { openQuotaStore, type QuotaRow, type QuotaStore, quotaPath } from '../db/quota-store.ts';
import { type Account, isUnused, newAccount, readLevels } from './quota-account.ts';
import { startQuotaClock } from './quota-clock.ts';
import type { RateLimit } from './rate-limit.ts';
import { createRing, type Ring, record, waitForAllMs } from './ring.ts';
import { changedPages, restoreRing } from './ring-pages.ts';

/** Everybody's accounts, in memory, written down at most twice a second. One per database: `serve` holds the lock. */
export type Ledger = {
  readonly now: () => number;
  readonly accounts: Map<string, Account>;
  readonly dirty: Set<Account>;
  readonly forgotten: Set<string>;
  readonly open: () => QuotaStore;
  readonly report: Report;
  store: QuotaStore | null;
  isFailing: boolean;
  timer: Timer | null;
  sweptAt: number;
};

/** Takes what an operator should know. */
export type Report = (level: 'info' | 'warn' | 'error', sentence: string, cause?: unknown) => void;

/** A crash forgets at most this much, and the time of one write. */
const SAVE_EVERY_MS = 500;

/** So many accounts in one write, since it holds up requests: a few milliseconds. The rest follows at once. */
const SAVE_AT_ONCE = 500;

/** While the file can't be written. */
const RETRY_EVERY_MS = 5_000;

/** How often accounts that are full again are dropped. */
const SWEEP_EVERY_MS = 60_000;

/** Opens the ledger beside a main database, with what an earlier run has left; without a file it counts all the same. */
export function openLedger(databasePath: string, clock: Clock, report: Report): Ledger {
  const open = () => openQuotaStore(quotaPath(databasePath), clock.nowMs());
  const store = attempt(open, report);
  const ledger: Ledger = {
    now: startQuotaClock(clock, store?.stored.lastTime ?? 0),
    accounts: new Map(),
    dirty: new Set(),
    forgotten: new Set(),
    open,
    report,
    store,
    isFailing: store === null,
    timer: null,
    sweptAt: 0,
  };
  if (store !== null) takeOver(ledger, store);
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

function takeOver(ledger: Ledger, { stored, setAside }: QuotaStore): void {
  if (setAside !== null)
    ledger.report('warn', `The quota file was unreadable and is now ${setAside}; quotas are full.`);
  const now = ledger.now();
  for (const [identifier, rows] of Map.groupBy(stored.rows, (row) => row.identifier)) {
    const windows = [...Map.groupBy(rows, (row) => row.windowSeconds).values()];
    const rings = windows.map((pages) => restoreRing(pages, now));
    const limits = rings.map(({ quota, windowMs }) => ({ quota, windowSeconds: windowMs / 1000 }));
    // What this run has counted stands, where the file could only be opened later.
    if (isUnused(rings, now) || ledger.accounts.has(identifier)) ledger.forgotten.add(identifier);
    else ledger.accounts.set(identifier, newAccount(identifier, limits, rings, false));
  }
  stored.rows.length = 0;
}

/** The account of a key; its rate limits were fixed at approval and are the same on every call. */
export function accountOf(ledger: Ledger, key: { identifier: string; rateLimits: readonly RateLimit[] }): Account {
  const known = ledger.accounts.get(key.identifier);
  if (known?.isComplete) return known;
  const rings = key.rateLimits.map((limit) => known?.rings.find((ring) => isOf(ring, limit)) ?? createRing(limit));
  const account = newAccount(key.identifier, key.rateLimits, rings, true);
  if (known !== undefined && rings.some((ring) => !known.rings.includes(ring))) {
    // Pages of a ring that this one can't go on with must not be mixed with its own.
    ledger.forgotten.add(key.identifier);
    account.savedHeads.fill(0);
  }
  ledger.accounts.set(key.identifier, account);
  return account;
}

function isOf(ring: Ring, limit: RateLimit): boolean {
  return ring.quota === limit.quota && ring.windowMs === limit.windowSeconds * 1000;
}

/**
 * Spends `count` of each limit now, of all or of none. Returns null where it was admitted, otherwise the milliseconds
 * after which `again` would be, Infinity where that is over a quota. The account's levels are then those of this moment.
 */
export function spend(ledger: Ledger, account: Account, count = 1, again = count): number | null {
  const now = ledger.now();
  const wait = waitForAllMs(account.rings, now, count, again);
  if (wait === null) {
    for (const ring of account.rings) record(ring, now, count);
    if (!account.isDirty) {
      account.isDirty = true;
      ledger.dirty.add(account);
      ledger.timer ??= schedule(ledger, SAVE_EVERY_MS);
    }
  }
  readLevels(account, now);
  return wait;
}

/** Brings an account's levels up to now without spending. */
export function look(ledger: Ledger, account: Account): void {
  readLevels(account, ledger.now());
}

function schedule(ledger: Ledger, delayMs: number): Timer {
  return setTimeout(() => {
    ledger.timer = null;
    saveLedger(ledger, SAVE_AT_ONCE);
    if (ledger.dirty.size === 0) return;
    const pace = ledger.dirty.size < SAVE_AT_ONCE ? SAVE_EVERY_MS : 1;
    ledger.timer = schedule(ledger, ledger.isFailing ? RETRY_EVERY_MS : pace);
  }, delayMs).unref();
}

/**
 * Writes down what has changed since the last time, of `most` accounts, those first that wait longest. Where that can't
 * be done it is said once, and tried again.
 */
export function saveLedger(ledger: Ledger, most = Number.POSITIVE_INFINITY): void {
  const now = ledger.now();
  sweep(ledger, now);
  const saved = [...ledger.dirty.values().take(most)];
  try {
    if (ledger.store === null) {
      ledger.store = ledger.open();
      takeOver(ledger, ledger.store);
    }
    ledger.store.save(saved.flatMap(rowsOf), [...ledger.forgotten], now);
  } catch (error) {
    if (!ledger.isFailing)
      ledger.report('error', 'Quotas can not be written; they hold until the server stops.', error);
    ledger.isFailing = true;
    return;
  }
  if (ledger.isFailing) ledger.report('info', 'Quotas are written again.');
  ledger.isFailing = false;
  for (const account of saved) {
    account.isDirty = false;
    account.savedHeads = account.rings.map((ring) => ring.head);
    ledger.dirty.delete(account);
  }
  ledger.forgotten.clear();
}

function rowsOf(account: Account): QuotaRow[] {
  return account.rings.flatMap((ring, index) =>
    changedPages(ring, account.savedHeads[index] as number).map((page) => ({
      identifier: account.identifier,
      ...page,
    })),
  );
}

/** Drops accounts whose every request has left its window: they are as good as new. */
function sweep(ledger: Ledger, now: number): void {
  if (now - ledger.sweptAt < SWEEP_EVERY_MS) return;
  ledger.sweptAt = now;
  for (const [identifier, account] of ledger.accounts) {
    if (!isUnused(account.rings, now)) continue;
    ledger.accounts.delete(identifier);
    ledger.dirty.delete(account);
    ledger.forgotten.add(identifier);
  }
}

/** Writes everything down and closes the file. */
export function closeLedger(ledger: Ledger): void {
  if (ledger.timer !== null) clearTimeout(ledger.timer);
  ledger.timer = null;
  saveLedger(ledger);
  ledger.store?.close();
  ledger.store = null;
}
