import type { Clock } from '../clock.ts';
import { openQuotaStore, type QuotaStore, quotaPath } from '../db/quota-store.ts';
import { type AccountMemory, accountCount, NEVER_SAVED } from './account-memory.ts';
import { type Account, newAccount, noteLevels } from './quota-account.ts';
import { quotaClock, startTimeline, type Timeline } from './quota-clock.ts';
import { scheduleSave } from './quota-file.ts';
import { takeOver } from './quota-restore.ts';
import type { RateLimit } from './rate-limit.ts';
import { createRing, type Ring, record, waitForAllMs } from './ring.ts';
import { holdAccount, letGo, sharedAccount, writeTails } from './shared-accounts.ts';

/** Everybody's accounts, in memory, written down every 0.8 s. One per database: `serve` holds the lock. */
export type Ledger = {
  readonly now: () => number;
  readonly timeline: Timeline;
  readonly accounts: Map<string, Account>;
  /** Where the accounts really lie when several threads spend; then `accounts` are those that this thread has met. */
  readonly memory: AccountMemory | null;
  /** Those that have spent since they were last saved, in that order. */
  dirty: Account[];
  readonly forgotten: Set<string>;
  /** Of what stands in the file's log, what is not in its pages yet; those first that were logged first. */
  readonly unfolded: Map<string, Unfolded>;
  /** What the file had of keys whose place in shared memory was held when it was read. */
  readonly late: Map<string, Ring[]>;
  /** Null in a thread that leaves the file to another. */
  readonly open: (() => QuotaStore) | null;
  readonly report: Report;
  store: QuotaStore | null;
  /** The number of the log's latest row. */
  seq: number;
  isFailing: boolean;
  timer: Timer | null;
  sweptAt: number;
};

/** An account whose pages are older than the log: the first row that they don't have, and each ring's head in them. */
export type Unfolded = { seq: number; heads: readonly number[] };

/** Takes what an operator should know. */
export type Report = (level: 'info' | 'warn' | 'error', sentence: string, cause?: unknown) => void;

/** Opens the ledger beside a main database, with what an earlier run has left; without a file it counts all the same. */
export function openLedger(
  databasePath: string,
  clock: Clock,
  report: Report,
  memory: AccountMemory | null = null,
): Ledger {
  const open = () => openQuotaStore(quotaPath(databasePath), clock.nowMs());
  const store = attempt(open, report);
  const timeline = startTimeline(clock, store?.stored.lastTime ?? 0);
  const ledger = { ...newLedger(clock, timeline, memory, report), open, store, isFailing: store === null };
  if (store !== null) takeOver(ledger, store);
  if (memory !== null) scheduleSave(ledger);
  return ledger;
}

/** The ledger of a thread that spends from accounts in shared memory, which another thread has opened on this timeline. */
export function joinLedger(clock: Clock, timeline: Timeline, memory: AccountMemory, report: Report): Ledger {
  return newLedger(clock, timeline, memory, report);
}

function newLedger(clock: Clock, timeline: Timeline, memory: AccountMemory | null, report: Report): Ledger {
  return {
    now: quotaClock(clock, timeline),
    timeline,
    accounts: new Map(),
    memory,
    dirty: [],
    forgotten: new Set(),
    unfolded: new Map(),
    late: new Map(),
    open: null,
    report,
    store: null,
    seq: 0,
    isFailing: false,
    timer: null,
    sweptAt: 0,
  };
}

function attempt(open: () => QuotaStore, report: Report): QuotaStore | null {
  try {
    return open();
  } catch (error) {
    report('error', 'The quota file can not be opened; quotas hold until the server stops.', error);
    return null;
  }
}

/** The account of a key; its rate limits were fixed at approval and are the same on every call. */
export function accountOf(ledger: Ledger, key: { identifier: string; rateLimits: readonly RateLimit[] }): Account {
  const known = ledger.accounts.get(key.identifier);
  if (known?.isComplete) return known;
  if (ledger.memory !== null) return meetAccount(ledger, ledger.memory, key);
  const rings = key.rateLimits.map((limit) => known?.rings.find((ring) => isOf(ring, limit)) ?? createRing(limit));
  const account = newAccount(key.identifier, key.rateLimits, rings, true);
  if (known !== undefined && rings.some((ring) => !known.rings.includes(ring))) {
    // Pages of a ring that this one can't go on with must not be mixed with its own.
    for (const ring of rings) ring.savedHead = NEVER_SAVED;
    markDirty(ledger, account);
  }
  ledger.accounts.set(key.identifier, account);
  return account;
}

/** A thread remembers the accounts that it has met; all over again, where most of them have been taken away since. */
function meetAccount(
  { accounts }: Ledger,
  memory: AccountMemory,
  { identifier, rateLimits }: { identifier: string; rateLimits: readonly RateLimit[] },
): Account {
  if (accounts.size > 1_000 + 2 * accountCount(memory)) accounts.clear();
  const account = sharedAccount(identifier, rateLimits);
  accounts.set(identifier, account);
  return account;
}

function isOf(ring: Ring, limit: RateLimit): boolean {
  return ring.quota === limit.quota && ring.windowMs === limit.windowSeconds * 1000;
}

/**
 * Spends `count` of each limit now, of all or of none. Returns null where it was admitted, otherwise the milliseconds
 * after which `again` would be, Infinity where that is over a quota. The account's levels are then those of this moment.
 * Throws `busy` where there is no shared memory left for the account.
 */
export function spend(ledger: Ledger, account: Account, count = 1, again = count): number | null {
  const { memory } = ledger;
  if (memory !== null) return spendShared(ledger, memory, account, count, again);
  const now = ledger.now();
  const wait = waitForAllMs(account.rings, now, count, again);
  if (wait === null) {
    for (const ring of account.rings) record(ring, now, count);
    if (!account.isDirty) markDirty(ledger, account);
  }
  noteLevels(account, now);
  return wait;
}

function markDirty(ledger: Ledger, account: Account): void {
  account.isDirty = true;
  ledger.dirty.push(account);
  scheduleSave(ledger);
}

function spendShared(
  ledger: Ledger,
  memory: AccountMemory,
  account: Account,
  count: number,
  again: number,
): number | null {
  const newest = holdAccount(memory, account);
  let isSpent = false;
  try {
    const now = Math.max(newest, ledger.now());
    const wait = waitForAllMs(account.rings, now, count, again);
    if (wait === null) {
      isSpent = true;
      writeTails(account);
      for (const ring of account.rings) record(ring, now, count);
    }
    noteLevels(account, now);
    return wait;
  } finally {
    // Whatever goes wrong here: a lock that stays would stop every worker.
    letGo(account, isSpent);
  }
}

/** Brings an account's levels up to now without spending. Throws `busy` as {@link spend}. */
export function look(ledger: Ledger, account: Account): void {
  if (ledger.memory === null) {
    noteLevels(account, ledger.now());
    return;
  }
  const newest = holdAccount(ledger.memory, account);
  try {
    noteLevels(account, Math.max(newest, ledger.now()));
  } finally {
    letGo(account, false);
  }
}
