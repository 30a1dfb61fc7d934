import type { QuotaChanges, QuotaRow } from '../db/quota-store.ts';
import { type AccountMemory, NEVER_SAVED } from './account-memory.ts';
import { type Account, isUnused } from './quota-account.ts';
import type { Ledger } from './quota-ledger.ts';
import { logOf } from './quota-log.ts';
import { bringInLate, takeOver } from './quota-restore.ts';
import { changedPages, countChanged } from './ring-pages.ts';
import { copyAccount, noteSaved, sweepAccounts, takeDirty } from './shared-keeping.ts';

// How a ledger outlives the process. Each save adds a row to the file's log; from there each account comes into its pages
// now and then ("folded"), so that the log stays short; at a clean stop all do. Of each ring the file's pages have what came before the head in
// `unfolded` at least, the log the rest up to `savedHead`; what came since, up to the ring's own head, is not in the file.

/** A crash forgets at most this much, and the time of one write. */
const SAVE_EVERY_MS = 800;

/** So many accounts in one write, since it holds up requests: a few milliseconds. The rest follows at once. */
const SAVE_AT_ONCE = 500;

/** About so many rows the log has: an account's pages are written once in so many saves. 10 000 busy keys make 15 MB. */
const LOG_ROWS = 300;

/** More new stamps of a ring in one save are written as pages at once. */
const MUCH = 16;

/** So many accounts at least are folded in one save where the log has grown long. */
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
  const saved = memory === null ? ledger.dirty.slice(0, most) : takeShared(ledger, memory, most);
  if (saved.length === 0 && ledger.forgotten.size === 0 && Number.isFinite(most)) return 0;
  let folded: Folded[];
  try {
    if (ledger.store === null) {
      const store = (ledger.open as NonNullable<Ledger['open']>)();
      takeOver(ledger, store);
      ledger.store = store;
    }
    folded = accountsToFold(ledger, saved, foldsAll);
    // Other threads have spent meanwhile: the time is not before what is saved.
    ledger.store.save(changesOf(ledger, saved, folded), ledger.now());
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
  noteWritten(ledger, saved, folded);
  return saved.length;
}

function takeShared(ledger: Ledger, memory: AccountMemory, most: number): Account[] {
  const taken = takeDirty(memory, most);
  for (const { identifier, rings } of taken) {
    if (rings.every(({ savedHead }) => savedHead !== NEVER_SAVED)) continue;
    ledger.forgotten.add(identifier);
    ledger.late.delete(identifier);
  }
  return taken;
}

/** An account whose pages are written, and what they have of it so far. */
type Folded = { account: Account; heads: readonly number[] };

/** Those of which too much is new for the log, and some of which the log has had longest. */
function accountsToFold(ledger: Ledger, saved: readonly Account[], foldsAll: boolean): Folded[] {
  const { unfolded, forgotten } = ledger;
  const atOnce = saved.filter((account) => foldsAll || isMuch(account));
  const folded = atOnce.map((account) => {
    const isVoid = forgotten.has(account.identifier);
    return { account, heads: (isVoid ? undefined : unfolded.get(account.identifier)?.heads) ?? savedHeadsOf(account) };
  });
  const done = new Set(atOnce.map(({ identifier }) => identifier));
  const share = foldsAll ? unfolded.size : Math.floor(unfolded.size / LOG_ROWS);
  let count = 0;
  for (const [identifier, { seq, heads }] of unfolded) {
    if (count >= share && (seq > ledger.seq - LOG_ROWS || count >= FOLD_AT_ONCE)) break;
    if (forgotten.has(identifier) || done.has(identifier)) continue;
    const account = findAccount(ledger, identifier);
    if (account === 'held') break;
    if (account === undefined) continue;
    folded.push({ account, heads });
    count++;
  }
  return folded;
}

function isMuch({ rings }: Account): boolean {
  return rings.some((ring) => countChanged(ring, ring.savedHead) > MUCH);
}

function savedHeadsOf({ rings }: Account): number[] {
  return rings.map(({ savedHead }) => savedHead);
}

function findAccount({ memory, accounts }: Ledger, identifier: string): Account | undefined | 'held' {
  return memory === null ? accounts.get(identifier) : copyAccount(memory, identifier);
}

function changesOf(ledger: Ledger, saved: readonly Account[], folded: readonly Folded[]): QuotaChanges {
  const isFolded = new Set(folded.map(({ account }) => account.identifier));
  const logged = saved.filter(({ identifier }) => !isFolded.has(identifier));
  const oldest = ledger.unfolded.entries().find(([identifier]) => !isFolded.has(identifier))?.[1];
  const seq = ledger.seq + 1;
  return {
    forgotten: [...ledger.forgotten],
    pages: folded.flatMap(pagesOf),
    log: { seq, ...logOf(ledger.forgotten, logged) },
    logFrom: oldest?.seq ?? seq,
  };
}

function pagesOf({ account: { identifier, rings }, heads }: Folded): QuotaRow[] {
  return rings.flatMap((ring, index) => changedPages(ring, heads[index] ?? 0).map((page) => ({ identifier, ...page })));
}

function noteWritten(ledger: Ledger, saved: readonly Account[], folded: readonly Folded[]): void {
  const { unfolded, forgotten } = ledger;
  const seq = ++ledger.seq;
  for (const identifier of forgotten) unfolded.delete(identifier);
  forgotten.clear();
  for (const account of saved) {
    const { identifier, rings } = account;
    if (!unfolded.has(identifier)) unfolded.set(identifier, { seq, heads: savedHeadsOf(account) });
    account.isDirty = false;
    for (const ring of rings) ring.savedHead = ring.head;
  }
  if (ledger.memory === null) ledger.dirty.splice(0, saved.length);
  for (const { account } of folded) unfolded.delete(account.identifier);
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
