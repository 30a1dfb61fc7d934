import type { Clocks } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import {
  type Account,
  areFitted,
  areSameLimits,
  canRefit,
  type LimitedKey,
  newAccount,
  noteLevels,
} from '../account.ts';
import type { Limits } from '../limits.ts';
import { createRing, type Ring, record, waitForAllMs } from '../ring.ts';
import { limitsTime, type Timeline } from '../time.ts';
import { releaseLock, takeLock } from './lock.ts';
import {
  accountCount,
  FIELD,
  FIELDS,
  findRegion,
  HEAD,
  nameRegion,
  openSharedMemory,
  type SharedBuffers,
  type SharedMemory,
  withTable,
} from './memory.ts';
import { isStill, type Region, readRing, regionFor, ringsAt, viewRegion, withRegion } from './region.ts';
import { wordsOfIdentifier } from './table.ts';

/** Passed from the main thread to each worker. */
export type SharedLimits = SharedBuffers & { timeline: Timeline };

type OneOfThreads = {
  readonly memory: SharedMemory;
  readonly now: () => number;
  /** The accounts that this thread has looked up. */
  readonly accounts: Map<string, SharedAccount>;
};

/** An account with its rings in shared memory. The fields of `rings` are current only while this thread holds the region's lock. */
type SharedAccount = Account & {
  /** Null until the account is first locked, and after it was moved or dropped. */
  region: Region | null;
  /** The index of each ring in the region. */
  ringIndexes: readonly number[];
};

/**
 * Opens the limits in the worker with this number. `clock` must have the same monotonic time in all threads. `save` and `close` do
 * nothing, because the main thread saves.
 */
export function joinLimits({ timeline, ...buffers }: SharedLimits, number: number, clock: Clocks): Limits {
  const memory = openSharedMemory(buffers, number);
  const state = { memory, now: limitsTime(clock, timeline), accounts: new Map() };
  return {
    accountOf: (key) => accountOf(state, key),
    spend: (account, count) => spend(state, account as SharedAccount, count),
    look: (account) => look(state, account as SharedAccount),
    save: async () => {},
    close: () => {},
  };
}

function accountOf(state: OneOfThreads, key: LimitedKey): Account {
  if (key.account === undefined || key.account.isDropped) key.account = findAccount(state, key);
  return key.account;
}

function findAccount({ accounts, memory }: OneOfThreads, { identifier, rateLimits }: LimitedKey): Account {
  const known = accounts.get(identifier);
  if (known !== undefined && areSameLimits(known.limits, rateLimits)) return known;
  // With more than twice as many accounts here as in shared memory, most were dropped: start with an empty cache.
  if (accounts.size > 1_000 + 2 * accountCount(memory)) accounts.clear();
  const unused = rateLimits.map((limit) => createRing(limit));
  const account = { ...newAccount(identifier, rateLimits, unused), region: null, ringIndexes: [] };
  accounts.set(identifier, account);
  return account;
}

function spend(state: OneOfThreads, account: SharedAccount, count: number): number | null {
  const now = hold(state, account);
  let isSpent = false;
  try {
    const wait = waitForAllMs(account.rings, now, count);
    if (wait === null) {
      isSpent = true;
      // The tails are written before any stamp. Otherwise, if this thread died in between, a new stamp that replaced an expired
      // one would count as if the expired request were still in the window.
      writeTails(account);
      for (const ring of account.rings) record(ring, now, count);
    }
    noteLevels(account, now);
    return wait;
  } finally {
    letGo(account, isSpent);
  }
}

function look(state: OneOfThreads, account: SharedAccount): void {
  const now = hold(state, account);
  try {
    noteLevels(account, now);
  } finally {
    letGo(account, false);
  }
}

/** Waits for the lock of an account, takes it, and reads the rings. Returns the time. Throws `busy`. */
function hold(state: OneOfThreads, account: SharedAccount): number {
  const { memory } = state;
  for (;;) {
    account.region ??= attachRegion(state, account);
    takeLock(account.region.head, HEAD.lock, memory.holder, memory.maxSleeps);
    if (isStill(account.region)) {
      readRings(account);
      const now = state.now();
      if (account.isFitted || !canRefit(account.rings, now)) return now;
    }
    // The account was dropped or moved, or its rings can now be laid out for changed limits: look for its region again.
    releaseLock(account.region.head, HEAD.lock);
    account.region = null;
  }
}

function readRings({ region, rings, ringIndexes }: SharedAccount): void {
  for (let index = 0; index < rings.length; index++) {
    readRing(region as Region, ringIndexes[index] as number, rings[index] as Ring);
  }
}

function writeTails({ region, rings, ringIndexes }: SharedAccount): void {
  const { fields } = region as Region;
  for (let index = 0; index < rings.length; index++) {
    const ring = rings[index] as Ring;
    const at = (ringIndexes[index] as number) * FIELDS;
    fields[at + FIELD.tail] = ring.tail;
    fields[at + FIELD.head] = ring.head;
  }
}

/** Writes an account's rings back and releases its lock. `isSpent` marks the account as changed, so that it is saved. */
function letGo(account: SharedAccount, isSpent: boolean): void {
  const { region, rings, ringIndexes } = account;
  const { head, fields } = region as Region;
  writeTails(account);
  for (let index = 0; index < rings.length; index++) {
    fields[(ringIndexes[index] as number) * FIELDS + FIELD.newestStep] = (rings[index] as Ring).newestStep;
  }
  if (isSpent) head[HEAD.isChanged] = 1;
  releaseLock(head, HEAD.lock);
}

/** Finds or makes the region of an account, and reads its layout. Throws `busy` if no memory is left. */
function attachRegion({ memory, now }: OneOfThreads, account: SharedAccount): Region {
  const words = wordsOfIdentifier(account.identifier);
  return withTable(memory, () => {
    const found = findRegion(memory, ...words);
    const place = (): number => regionFor(memory, words, found, account.limits, now());
    const at = found === 0 ? place() : withRegion(memory, found, place);
    if (at === 0) throw new AppError('busy', 'There is no memory left for the rate limits of another key.');
    nameRegion(memory, at, words);
    const laid = ringsAt(memory, at);
    account.ringIndexes = account.limits.map(({ windowSeconds }) =>
      laid.findIndex(({ windowMs }) => windowMs === windowSeconds * 1000),
    );
    account.rings = account.limits.map(({ quota }, index) => {
      return { ...(laid[account.ringIndexes[index] as number] as Ring), quota };
    });
    account.isFitted = areFitted(account.rings);
    return viewRegion(memory, at);
  });
}
