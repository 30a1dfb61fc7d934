import type { Clock } from '../clock.ts';
import type { RateLimit } from './rate-limit.ts';
import { type QuotaRow, rowText, type Stored } from './stored.ts';
import { expire, newWindow, noteLevel, quantise, record, type Window, waitMs } from './window.ts';

/** The part of an API key that rate limiting needs. Keys with equal limits should share one array. */
export type LimitedKey = { readonly identifier: string; readonly rateLimits: readonly RateLimit[] };

/** What a key has spent: a window for each of its limits, in their order. */
export type Account = {
  readonly identifier: string;
  limits: readonly RateLimit[];
  windows: Window[];
  /** Times and counts of the requests that are not stored yet; null if the next row must have the whole account. */
  unsaved: number[] | null;
  isChanged: boolean;
  /** The last row that has the whole account: the rows before it are not needed for this key. */
  wholeRow: number;
};

/** The level of a rate limit, for pages. */
export type Level = RateLimit & {
  remaining: number;
  /** In how many milliseconds one more request will fit, and the whole quota; null if nothing is spent. */
  moreInMs: number | null;
  fullInMs: number | null;
};

/** What to store in one transaction; `noteSaved` is called once it was committed, before anything else is spent. */
type Changes = { row: QuotaRow; neededFrom: number; noteSaved: () => void };

/** The rate limits of all keys. */
export type Limits = {
  /**
   * The account of a key with its current limits. After a change of limits, requests in a window of the same length still
   * count; a window of a new length starts empty.
   */
  accountOf: (key: LimitedKey) => Account;
  /**
   * Spends `count` requests of every limit, or of none if one of them lacks room. Returns null if they were admitted; otherwise
   * the milliseconds until `count` requests fit, or Infinity if `count` exceeds a quota. Updates the levels of the account.
   */
  spend: (account: Account, count: number) => number | null;
  /** Updates `remaining` and `resetSeconds` of the account's windows without spending. */
  look: (account: Account) => void;
  /** What is left of each limit of a key, in their order. */
  levelsOf: (key: LimitedKey) => Level[];
  /** The keys of which at most this share of a limit was left at their last request. */
  nearLimits: (share: number) => string[];
  /** Whether something is to be saved: what was spent since, and by the last save also the time, if anything was ever spent. */
  hasChanges: (isLast?: boolean) => boolean;
  /** What was spent since the last save. A thousand keys take a few milliseconds. */
  changes: () => Changes;
};

/** Each account is stored whole about once in so many rows, which bounds the table and the time to read it. */
const ROWS = 128;

/** An account with more unsaved numbers than this is stored whole. */
const MAX_UNSAVED = 4_096;

const SWEEP_EVERY_MS = 60_000;

type State = {
  readonly now: () => number;
  /** By identifier; in ascending order of `wholeRow`. */
  readonly accounts: Map<string, Account>;
  changed: Account[];
  lastRow: number;
  sweptAt: number;
};

/** Opens the limits with what was stored. */
export function openLimits(clock: Clock, { keys, lastRow, lastTime }: Stored): Limits {
  const now = limitsTime(clock, lastTime);
  const accounts = new Map<string, Account>();
  for (const [identifier, { windows, wholeRow }] of keys) {
    const limits = windows.map(({ quota, windowMs }) => ({ quota, windowSeconds: windowMs / 1000 }));
    accounts.set(identifier, { identifier, limits, windows, unsaved: [], isChanged: false, wholeRow });
  }
  const state: State = { now, accounts, changed: [], lastRow, sweptAt: now() };
  return {
    accountOf: (key) => accountOf(state, key),
    spend: (account, count) => spend(state, account, count),
    look: (account) => look(state, account),
    levelsOf: (key) => levelsOf(state, key),
    nearLimits: (share) =>
      accounts
        .values()
        .filter(({ windows }) => windows.some(({ used, quota }) => quota - used <= share * quota))
        .map(({ identifier }) => identifier)
        .toArray(),
    hasChanges: (isLast = false) => state.changed.length > 0 || (isLast && accounts.size > 0),
    changes: () => changesOf(state),
  };
}

/**
 * The time of the limits, in milliseconds since 1970. It begins with the wall clock's time, but not before the last stored one,
 * and then follows the monotonic clock, so it never goes back and ignores that the wall clock is set.
 */
function limitsTime(clock: Clock, notBefore: number): () => number {
  const base = Math.max(clock.nowMs(), notBefore) - clock.monotonicMs();
  let last = notBefore;
  return () => {
    last = Math.max(last, quantise(base + clock.monotonicMs()));
    return last;
  };
}

function accountOf(state: State, { identifier, rateLimits }: LimitedKey): Account {
  const known = state.accounts.get(identifier);
  if (known === undefined) {
    const windows = rateLimits.map((limit) => newWindow(limit));
    const wholeRow = state.lastRow + 1;
    const account = { identifier, limits: rateLimits, windows, unsaved: null, isChanged: false, wholeRow };
    state.accounts.set(identifier, account);
    return account;
  }
  if (known.limits === rateLimits) return known;
  if (!areSameLimits(known.limits, rateLimits)) {
    known.windows = changedWindows(known.windows, rateLimits, state.now());
    known.unsaved = null;
    markChanged(state, known);
  }
  known.limits = rateLimits;
  return known;
}

/** Whether two lists have equal rate limits in the same order. */
export function areSameLimits(one: readonly RateLimit[], other: readonly RateLimit[]): boolean {
  const isSame = ({ quota, windowSeconds }: RateLimit, index: number) =>
    quota === other[index]?.quota && windowSeconds === other[index].windowSeconds;
  return one.length === other.length && one.every(isSame);
}

/** The windows for these limits, with the requests of windows of the same length, whose arrays they share. */
function changedWindows(windows: readonly Window[], limits: readonly RateLimit[], now: number): Window[] {
  for (const window of windows) expire(window, now);
  return limits.map((limit) =>
    newWindow(
      limit,
      windows.find(({ windowMs }) => windowMs === limit.windowSeconds * 1000),
    ),
  );
}

function spend(state: State, account: Account, count: number): number | null {
  const now = state.now();
  const { windows } = account;
  let hasRoom = true;
  for (const window of windows) {
    expire(window, now);
    if (window.used + count > window.quota) hasRoom = false;
  }
  if (hasRoom) {
    for (const window of windows) record(window, now, count);
    noteSpent(state, account, now, count);
  }
  for (const window of windows) noteLevel(window, now);
  return hasRoom ? null : Math.max(...windows.map((window) => waitMs(window, now, count)));
}

function noteSpent(state: State, account: Account, now: number, count: number): void {
  markChanged(state, account);
  if (account.unsaved === null) return;
  account.unsaved.push(now, count);
  if (account.unsaved.length > MAX_UNSAVED) account.unsaved = null;
}

function markChanged(state: State, account: Account): void {
  if (account.isChanged) return;
  account.isChanged = true;
  state.changed.push(account);
}

function look(state: State, { windows }: Account): void {
  const now = state.now();
  for (const window of windows) noteLevel(window, now);
}

function levelsOf(state: State, { identifier, rateLimits }: LimitedKey): Level[] {
  const now = state.now();
  const windows = state.accounts.get(identifier)?.windows ?? [];
  return changedWindows(windows, rateLimits, now).map((window) => {
    noteLevel(window, now);
    const { quota, windowMs, remaining, used } = window;
    const inMs = (count: number) => (used === 0 ? null : waitMs(window, now, count));
    const [moreInMs, fullInMs] = [inMs(Math.min(quota, remaining + 1)), inMs(quota)];
    return { quota, windowSeconds: windowMs / 1000, remaining, moreInMs, fullInMs };
  });
}

/** The level with the smallest share left; of two equal ones, that with the longer window. */
export function scarcest(levels: readonly Level[]): Level | undefined {
  const share = ({ remaining, quota }: Level) => remaining / quota;
  return levels.toSorted((one, other) => share(one) - share(other) || other.windowSeconds - one.windowSeconds)[0];
}

function changesOf(state: State): Changes {
  const at = state.now();
  if (at - state.sweptAt >= SWEEP_EVERY_MS) sweep(state, at);
  const { accounts, changed } = state;
  const id = state.lastRow + 1;
  const whole = new Map<string, Account>();
  const since = new Map<string, readonly number[]>();
  for (const account of longUnwritten(state, id)) whole.set(account.identifier, account);
  for (const account of changed) {
    const { identifier, unsaved } = account;
    if (unsaved === null) whole.set(identifier, account);
    else if (!whole.has(identifier)) since.set(identifier, unsaved);
  }
  const first = accounts.values().find(({ identifier }) => !whole.has(identifier));
  return {
    row: { id, at, spent: rowText(at, whole, since) },
    neededFrom: first?.wholeRow ?? id,
    noteSaved: () => noteSaved(state, id, whole.values()),
  };
}

/** The accounts whose turn it is to be stored whole, so that each is about once in {@link ROWS} rows. */
function longUnwritten({ accounts }: State, id: number): Account[] {
  const turn = accounts.values().take(Math.ceil(accounts.size / ROWS));
  return turn.filter(({ wholeRow }) => wholeRow <= id - ROWS).toArray();
}

function noteSaved(state: State, id: number, whole: Iterable<Account>): void {
  const { accounts, changed } = state;
  for (const account of changed) {
    account.isChanged = false;
    account.unsaved = [];
  }
  for (const account of whole) {
    account.wholeRow = id;
    accounts.delete(account.identifier);
    accounts.set(account.identifier, account);
  }
  state.changed = [];
  state.lastRow = id;
}

/** Forgets the accounts whose windows are empty. */
function sweep(state: State, now: number): void {
  state.sweptAt = now;
  for (const account of state.accounts.values()) {
    for (const window of account.windows) expire(window, now);
    if (account.windows.every(({ used }) => used === 0)) {
      state.accounts.delete(account.identifier);
      account.isChanged = false;
    }
  }
  state.changed = state.changed.filter(({ isChanged }) => isChanged);
}
