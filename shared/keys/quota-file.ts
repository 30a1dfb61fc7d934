import type { QuotaChanges, QuotaRow } from '../db/quota-store.ts';
import { type Account, type AccountSince, isNeverSaved, isUnused, sinceSaved } from './quota-account.ts';
import type { Ledger } from './quota-ledger.ts';
import { logOf } from './quota-log.ts';
import { bringInLate, takeOver } from './quota-restore.ts';
import { changedPages, countChanged, PAGE_STAMPS } from './ring-pages.ts';
import { copyAccount, noteSaved, sweepAccounts, takeDirty } from './shared-keeping.ts';

// How a ledger outlives the process. Each save adds a row to the file's log. So that the log stays short, what is in its old
// rows is said once more in a new one ("renewed"), or, where that is much or the key is not in use, comes into the account's
// pages ("folded"); at a clean stop all does. Of each ring the file's pages have what came before the head in `unfolded` at
// least, the log the rest up to `savedHead`; what came since, up to the ring's own head, is not in the file.

/** A crash forgets at most this much, and the time of one write. */
const SAVE_EVERY_MS = 800;

/** So many accounts in one write, since it holds up requests: a few milliseconds. The rest follows at once. */
const SAVE_AT_ONCE = 500;

/** About so many rows the log has; 10 000 busy keys make 15 MB. */
const LOG_ROWS = 300;

/** After so many rows an account is renewed when it is saved, and after so many folded, since it seems not to be in use. */
const RENEW_AFTER = 150;
const FOLD_AFTER = 225;

/** More new stamps of a ring in one save are written as pages at once. */
const MUCH = 16;

/** So many accounts are folded in one save, or more of many, where the log has grown long. */
const FOLD_AT_ONCE = 100;

/** While the file can't be written. */
const RETRY_EVERY_MS = 5_000;

/** How often accounts that are full again are dropped. */
const SWEEP_EVERY_MS = 60_000;

/** Sees to it that what has changed is saved before long. */
export function scheduleSave(ledger: Ledger): void {
  ledger.timer ??= schedule(ledger, SAVE_EVERY_MS);
}

function schedule(ledger: Ledger, delayMs: number): Timer {
  return setTimeout(() => {
    ledger.timer = null;
    const saved = saveLedger(ledger, SAVE_AT_ONCE);
    // What other threads have spent has to be looked for.
    if (ledger.dirty.length === 0 && ledger.memory === null) return;
    const pace = saved < SAVE_AT_ONCE ? SAVE_EVERY_MS : 1;
    ledger.timer = schedule(ledger, ledger.isFailing ? RETRY_EVERY_MS : pace);
  }, delayMs).unref();
}

/**
 * Writes down what has changed since the last time, of `most` accounts, those first that wait longest. Where that can't
 * be done it is said once, and tried again. With `foldsAll` nothing stays in the log. Returns how many accounts it took.
 */
export function saveLedger(ledger: Ledger, most = Number.POSITIVE_INFINITY, foldsAll = false): number {
  const now = ledger.now();
  sweep(ledger, now);
  bringInLate(ledger, now);
  const { memory } = ledger;
  const saved = memory === null ? ledger.dirty.slice(0, most) : takeDirty(memory, most);
  forgetFormer(ledger, saved);
  if (saved.length === 0 && ledger.forgotten.size === 0 && Number.isFinite(most)) return 0;
  let plan: Plan;
  try {
    if (ledger.store === null) {
      const store = (ledger.open as NonNullable<Ledger['open']>)();
      takeOver(ledger, store);
      ledger.store = store;
    }
    plan = planOf(ledger, saved, foldsAll);
    // Other threads have spent meanwhile: the time is not before what is saved.
    ledger.store.save(changesOf(ledger, plan), ledger.now());
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
  noteWritten(ledger, saved, plan);
  return saved.length;
}

/** What the file has of accounts that it can't go on with is void, from the save on that says what holds instead. */
function forgetFormer({ forgotten, late }: Ledger, saved: readonly Account[]): void {
  for (const account of saved) {
    if (!isNeverSaved(account)) continue;
    forgotten.add(account.identifier);
    late.delete(account.identifier);
  }
}

/** What a save writes, as pages and in the log; `settled` are those of which older rows of the log say nothing that is needed. */
type Plan = { folded: AccountSince[]; logged: AccountSince[]; settled: Set<string> };

function planOf(ledger: Ledger, saved: readonly Account[], foldsAll: boolean): Plan {
  const folded = accountsToFold(ledger, saved, foldsAll);
  const settled = new Set(folded.map(({ account }) => account.identifier));
  const logged: AccountSince[] = [];
  for (const account of saved) {
    if (settled.has(account.identifier)) continue;
    const old = sinceFolded(ledger, account, ledger.seq - RENEW_AFTER);
    const isRenewed = old !== null && !isMuch(old, PAGE_STAMPS);
    logged.push(isRenewed ? old : sinceSaved(account));
    if (isRenewed) settled.add(account.identifier);
  }
  return { folded, logged, settled };
}

/** Those of which too much is new for the log, and some of which the log has had long. */
function accountsToFold(ledger: Ledger, saved: readonly Account[], foldsAll: boolean): AccountSince[] {
  const { unfolded, forgotten, seq: latest } = ledger;
  const atOnce = saved.filter((account) => foldsAll || isMuch(sinceSaved(account), MUCH));
  const folded = atOnce.map((account) => sinceFolded(ledger, account, latest) ?? sinceSaved(account));
  const done = new Set(atOnce.map(({ identifier }) => identifier));
  const share = Math.floor(unfolded.size / LOG_ROWS);
  let count = 0;
  for (const [identifier, { seq, heads }] of unfolded) {
    const isLong = seq <= latest - LOG_ROWS && count < FOLD_AT_ONCE;
    const isOld = seq <= latest - FOLD_AFTER && count < share;
    if (!isLong && !isOld && !foldsAll) break;
    if (forgotten.has(identifier) || done.has(identifier)) continue;
    const account = findAccount(ledger, identifier);
    if (account === 'held') break;
    if (account === undefined || isNeverSaved(account)) continue;
    folded.push({ account, heads });
    count++;
  }
  return folded;
}

function isMuch({ account, heads }: AccountSince, most: number): boolean {
  return account.rings.some((ring, index) => countChanged(ring, heads[index] ?? 0) > most);
}

/** What has come to an account since its pages were written, where the log has something of it in this row or before. */
function sinceFolded({ forgotten, unfolded }: Ledger, account: Account, row: number): AccountSince | null {
  const known = forgotten.has(account.identifier) ? undefined : unfolded.get(account.identifier);
  return known === undefined || known.seq > row ? null : { account, heads: known.heads };
}

function findAccount({ memory, accounts }: Ledger, identifier: string): Account | undefined | 'held' {
  return memory === null ? accounts.get(identifier) : copyAccount(memory, identifier);
}

function changesOf({ unfolded, forgotten, seq: latest }: Ledger, { folded, logged, settled }: Plan): QuotaChanges {
  const oldest = unfolded.entries().find(([identifier]) => !settled.has(identifier))?.[1];
  const seq = latest + 1;
  return {
    forgotten: [...forgotten],
    pages: folded.flatMap(pagesOf),
    log: { seq, ...logOf(forgotten, logged) },
    logFrom: oldest?.seq ?? seq,
  };
}

function pagesOf({ account: { identifier, rings }, heads }: AccountSince): QuotaRow[] {
  return rings.flatMap((ring, index) => changedPages(ring, heads[index] ?? 0).map((page) => ({ identifier, ...page })));
}

function noteWritten(ledger: Ledger, saved: readonly Account[], { logged, settled }: Plan): void {
  const { unfolded, forgotten } = ledger;
  const seq = ++ledger.seq;
  for (const identifier of [...forgotten, ...settled]) unfolded.delete(identifier);
  forgotten.clear();
  for (const { account, heads } of logged) {
    if (!unfolded.has(account.identifier)) unfolded.set(account.identifier, { seq, heads });
  }
  for (const account of saved) {
    account.isDirty = false;
    for (const ring of account.rings) ring.savedHead = ring.head;
  }
  if (ledger.memory === null) ledger.dirty.splice(0, saved.length);
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
    account.isComplete = false;
    ledger.accounts.delete(identifier);
    ledger.forgotten.add(identifier);
  }
  ledger.dirty = ledger.dirty.filter(({ isComplete }) => isComplete);
}

/** Writes everything down and closes the file. */
export function closeLedger(ledger: Ledger): void {
  if (ledger.open === null) return;
  if (ledger.timer !== null) clearTimeout(ledger.timer);
  ledger.timer = null;
  saveLedger(ledger, Number.POSITIVE_INFINITY, true);
  ledger.store?.close();
  ledger.store = null;
}
