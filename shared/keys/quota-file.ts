import type { QuotaRow, QuotaStore } from '../db/quota-store.ts';
import { type AccountMemory, NEVER_SAVED } from './account-memory.ts';
import { type Account, isUnused, newAccount } from './quota-account.ts';
import type { Ledger } from './quota-ledger.ts';
import type { Ring } from './ring.ts';
import { changedPages, restoreRing } from './ring-pages.ts';
import { noteSaved, putAccount, sweepAccounts, takeDirty } from './shared-keeping.ts';

// How a ledger outlives the process.

/** A crash forgets at most this much, and the time of one write. */
const SAVE_EVERY_MS = 800;

/** So many accounts in one write, since it holds up requests: a few milliseconds. The rest follows at once. */
const SAVE_AT_ONCE = 500;

/** While the file can't be written. */
const RETRY_EVERY_MS = 5_000;

/** How often accounts that are full again are dropped. */
const SWEEP_EVERY_MS = 60_000;

/** Brings in what an earlier run has left. */
export function takeOver(ledger: Ledger, { stored, setAside }: QuotaStore): void {
  if (setAside !== null)
    ledger.report('warn', `The quota file was unreadable and is now ${setAside}; quotas are full.`);
  const now = ledger.now();
  for (const [identifier, rows] of Map.groupBy(stored.rows, (row) => row.identifier)) {
    const windows = [...Map.groupBy(rows, (row) => row.windowSeconds).values()];
    const rings = windows.map((pages) => restoreRing(pages, now));
    // What this run has counted stands, where the file could only be opened later.
    if (isUnused(rings, now) || !bringIn(ledger, identifier, rings)) ledger.forgotten.add(identifier);
  }
  stored.rows.length = 0;
}

/** False where there is such an account already, or no room for it. */
function bringIn(ledger: Ledger, identifier: string, rings: Ring[]): boolean {
  if (ledger.memory !== null) {
    try {
      return putAccount(ledger.memory, identifier, rings);
    } catch (error) {
      ledger.report('error', `What key ${identifier} has used is forgotten, for want of memory.`, error);
      return false;
    }
  }
  if (ledger.accounts.has(identifier)) return false;
  const limits = rings.map(({ quota, windowMs }) => ({ quota, windowSeconds: windowMs / 1000 }));
  ledger.accounts.set(identifier, newAccount(identifier, limits, rings, false));
  return true;
}

/** Sees to it that what has changed is saved before long. */
export function scheduleSave(ledger: Ledger): void {
  ledger.timer ??= schedule(ledger, SAVE_EVERY_MS);
}

function schedule(ledger: Ledger, delayMs: number): Timer {
  return setTimeout(() => {
    ledger.timer = null;
    const saved = saveLedger(ledger, SAVE_AT_ONCE);
    // What other threads have spent has to be looked for.
    if (ledger.dirty.size === 0 && ledger.memory === null) return;
    const pace = saved < SAVE_AT_ONCE ? SAVE_EVERY_MS : 1;
    ledger.timer = schedule(ledger, ledger.isFailing ? RETRY_EVERY_MS : pace);
  }, delayMs).unref();
}

/**
 * Writes down what has changed since the last time, of `most` accounts, those first that wait longest. Where that can't
 * be done it is said once, and tried again. Returns how many accounts it took.
 */
export function saveLedger(ledger: Ledger, most = Number.POSITIVE_INFINITY): number {
  const now = ledger.now();
  sweep(ledger, now);
  const { memory } = ledger;
  const saved = memory === null ? [...ledger.dirty.values().take(most)] : takeShared(ledger, memory, most);
  if (saved.length === 0 && ledger.forgotten.size === 0 && Number.isFinite(most)) return 0;
  try {
    if (ledger.store === null) {
      ledger.store = (ledger.open as NonNullable<Ledger['open']>)();
      takeOver(ledger, ledger.store);
    }
    ledger.store.save(saved.flatMap(rowsOf), [...ledger.forgotten], now);
  } catch (error) {
    if (!ledger.isFailing)
      ledger.report('error', 'Quotas can not be written; they hold until the server stops.', error);
    ledger.isFailing = true;
    if (memory !== null) noteSaved(saved, false);
    return saved.length;
  }
  if (ledger.isFailing) ledger.report('info', 'Quotas are written again.');
  ledger.isFailing = false;
  if (memory !== null) noteSaved(saved, true);
  for (const account of saved) {
    account.isDirty = false;
    account.savedHeads = account.rings.map((ring) => ring.head);
    ledger.dirty.delete(account);
  }
  ledger.forgotten.clear();
  return saved.length;
}

function takeShared(ledger: Ledger, memory: AccountMemory, most: number): Account[] {
  const taken = takeDirty(memory, most);
  for (const { identifier, savedHeads } of taken) {
    if (savedHeads.includes(NEVER_SAVED)) ledger.forgotten.add(identifier);
  }
  return taken;
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
  if (ledger.memory !== null) {
    for (const identifier of sweepAccounts(ledger.memory, now)) ledger.forgotten.add(identifier);
    return;
  }
  for (const [identifier, account] of ledger.accounts) {
    if (!isUnused(account.rings, now)) continue;
    ledger.accounts.delete(identifier);
    ledger.dirty.delete(account);
    ledger.forgotten.add(identifier);
  }
}

/** Writes everything down and closes the file. */
export function closeLedger(ledger: Ledger): void {
  if (ledger.open === null) return;
  if (ledger.timer !== null) clearTimeout(ledger.timer);
  ledger.timer = null;
  saveLedger(ledger);
  ledger.store?.close();
  ledger.store = null;
}
