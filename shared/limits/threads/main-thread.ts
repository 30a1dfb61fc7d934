import type { Clocks } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { isUnused } from '../account.ts';
import type { Accounts } from '../accounts.ts';
import type { SavedAccount } from '../file/row.ts';
import { closeLedger, openLedger, type Report, saveLedger } from '../ledger.ts';
import type { Limits } from '../limits.ts';
import type { Ring } from '../ring.ts';
import {
  createSharedBuffers,
  FIELD,
  FIELDS,
  findRegion,
  freeLocksOf,
  HEAD,
  openSharedMemory,
  putRegion,
  regionsOf,
  removeRegion,
  type SharedBuffers,
  type SharedMemory,
  withTable,
  wordsOf,
} from './memory.ts';
import {
  byWindow,
  copyRings,
  fillRegion,
  isStill,
  layoutOf,
  type Region,
  ringsAt,
  viewRegion,
  withRegion,
} from './region.ts';
import { identifierOfWords, wordsOfIdentifier } from './table.ts';
import type { SharedLimits } from './worker.ts';

/** The limits in the main thread of a server with several workers: it answers no requests, but saves what workers spend. */
export type MainThreadLimits = Pick<Limits, 'save' | 'close'> & {
  /** For `joinLimits` in each worker. */
  readonly shared: SharedLimits;
  /** Frees the locks of the dead thread with this number. */
  freeLocksOf: (number: number) => void;
};

/** The main thread must not block, since it has to free the locks of dead workers. */
const MAX_SLEEPS = 20;

type MainThread = {
  readonly memory: SharedMemory;
  /** The position where the next search for changed accounts starts, so that each account gets its turn. */
  lookAt: number;
};

type Copy = SavedAccount & { readonly region: Region };

/**
 * Opens the limits of a database for a server with several workers, and restores the quota file. `number` is the main thread's
 * number in locks. Tests may pass `buffers`.
 */
export function openMainThreadLimits(
  databasePath: string,
  clock: Clocks,
  report: Report,
  number: number,
  buffers: SharedBuffers = createSharedBuffers(),
): MainThreadLimits {
  const memory = openSharedMemory(buffers, number, MAX_SLEEPS);
  const ledger = openLedger(databasePath, clock, report, accountsIn({ memory, lookAt: 0 }));
  return {
    shared: { ...buffers, timeline: ledger.timeline },
    freeLocksOf: (dead) => freeLocksOf(memory, dead),
    save: () => saveLedger(ledger),
    close: () => closeLedger(ledger),
  };
}

function accountsIn(main: MainThread): Accounts {
  const { memory } = main;
  return {
    mayHaveChanged: () => true,
    takeChanged: (max) => takeChanged(main, max),
    noteTaken: (taken, isSaved) => {
      if (isSaved) return;
      for (const { region } of taken as readonly Copy[]) if (isStill(region)) region.head[HEAD.isChanged] = 1;
    },
    noteWritten: (account, firstRow) => noteWritten(memory, account as Copy, firstRow),
    beginningWith: (row, identifier) => unlessHeld(() => accountBeginningWith(memory, row, identifier)),
    restore: (identifier, rings, firstRow) => restore(memory, identifier, rings, firstRow),
    dropUnused: (now) => dropUnused(memory, now),
    forgetSaved: () => forgetSaved(memory),
  };
}

function takeChanged(main: MainThread, max: number): Copy[] {
  const { memory } = main;
  const taken: Copy[] = [];
  const words = wordsOf(memory);
  for (const at of regionsFrom(memory, main.lookAt)) {
    if (words[at + HEAD.isChanged] !== 1 || words[at + HEAD.first] === 0) continue;
    if (taken.length >= max) {
      main.lookAt = at;
      break;
    }
    // The mark is cleared before the account is copied, so that a request during the copy sets it again.
    words[at + HEAD.isChanged] = 0;
    const copy = unlessHeld(() => copyOf(memory, at));
    if (copy === null) words[at + HEAD.isChanged] = 1;
    else taken.push(copy);
  }
  return taken;
}

/** The positions of all regions, used or free: first those from `start` on, then those before it. */
function* regionsFrom(memory: SharedMemory, start: number): Generator<number> {
  for (const at of regionsOf(memory)) if (at >= start) yield at;
  for (const at of regionsOf(memory)) {
    if (at >= start) return;
    yield at;
  }
}

function copyOf(memory: SharedMemory, at: number): Copy {
  const region = viewRegion(memory, at);
  const rings = copyRings(memory, at);
  const firstRow = region.head[HEAD.firstRow] as number;
  return { identifier: identifierOfWords(region.first, region.second), rings, former: [], firstRow, region };
}

// If a thread holds the account's lock, nothing is recorded, and the next save writes the same requests again.
function noteWritten(memory: SharedMemory, { region, rings }: Copy, firstRow: number): void {
  unlessHeld(() =>
    withRegion(memory, region.at, () => {
      if (!isStill(region)) return;
      region.head[HEAD.firstRow] = firstRow;
      for (const [index, { head }] of rings.entries()) region.fields[index * FIELDS + FIELD.savedHead] = head;
    }),
  );
}

function accountBeginningWith(memory: SharedMemory, row: number, identifier: string): Copy | undefined {
  const words = wordsOfIdentifier(identifier);
  return withTable(memory, () => {
    const at = findRegion(memory, ...words);
    const firstRow = at === 0 ? 0 : (wordsOf(memory)[at + HEAD.firstRow] as number);
    return firstRow !== 0 && firstRow <= row ? copyOf(memory, at) : undefined;
  });
}

function restore(memory: SharedMemory, identifier: string, rings: readonly Ring[], firstRow: number): boolean {
  const words = wordsOfIdentifier(identifier);
  const ordered = rings.toSorted(byWindow);
  return withTable(memory, () => {
    if (findRegion(memory, ...words) !== 0) return true;
    return putRegion(memory, words, layoutOf(ordered), 0, (at) => fillRegion(memory, at, ordered, firstRow)) !== 0;
  });
}

// No lock is needed: except in new regions, which are in no file, only this thread writes `firstRow`.
function forgetSaved(memory: SharedMemory): void {
  const words = wordsOf(memory);
  for (const at of regionsOf(memory)) {
    words[at + HEAD.firstRow] = 0;
    words[at + HEAD.isChanged] = 1;
  }
}

function dropUnused(memory: SharedMemory, now: number): void {
  const isOver = (at: number) => isUnused(ringsAt(memory, at), now);
  for (const at of regionsOf(memory)) {
    const region = viewRegion(memory, at);
    if (region.first === 0 || unlessHeld(() => withRegion(memory, at, () => isOver(at))) !== true) continue;
    const isTried = unlessHeld(() =>
      withTable(memory, () => {
        // Both happen under the region's lock, so that no thread can spend between the check and the removal.
        const isGone = withRegion(memory, at, () => {
          if (!isStill(region) || !isOver(at)) return false;
          region.head[HEAD.first] = 0;
          return true;
        });
        if (isGone) removeRegion(memory, at, region.first, region.second);
        return true;
      }),
    );
    // The table's lock is taken, perhaps by a dead thread whose locks this thread has to free; the next sweep drops the rest.
    if (isTried !== true) break;
  }
}

/** Runs a function; returns null if it needs a lock whose holder does not release it, perhaps because it died. */
function unlessHeld<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError && error.code === 'busy') return null;
    throw error;
  }
}
