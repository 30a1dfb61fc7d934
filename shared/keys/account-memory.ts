import { AppError } from '../errors.ts';
import { emptyPlace, placeOf } from './account-table.ts';
import type { RateLimit } from './rate-limit.ts';
import { ringLength } from './ring.ts';
import { freeLock, MOST_NAPS, releaseLock, takeLock } from './shared-lock.ts';

// Where the accounts of all keys lie when several threads serve: in one piece of shared memory, an account a region, found
// by a hash table. What a thread that ends half-way leaves behind is consistent at every step: a region that nobody finds.

/** What threads pass to each other; each makes an {@link AccountMemory} of it. */
export type SharedBuffers = { arena: SharedArrayBuffer; table: SharedArrayBuffer };

/** One thread's way to the shared memory. */
export type AccountMemory = SharedBuffers & {
  /** This thread's number, as it stands in the locks that it holds; not 0. */
  readonly holder: number;
  /** How many milliseconds this thread waits for a lock before it gives up, with `busy`. */
  readonly mostNaps: number;
  /** Three words for each place: the identifier's two, and where the region begins. */
  readonly places: Int32Array;
  /** All words of the arena, up to where it reached when this was last read ({@link wordsOf}). */
  words: Int32Array;
  /** Where the keeper goes on looking for what has changed, so that each account has its turn. */
  lookAt: number;
};

/** The words of a region's head; then come six Float64 for each limit ({@link FIELD}), by window, then the stamps. */
export const HEAD = { lock: 0, first: 1, second: 2, units: 3, limits: 4, isDirty: 5, next: 6 } as const;

/** The Float64 of a limit. */
export const FIELD = { quota: 0, windowSeconds: 1, head: 2, tail: 3, newestStep: 4, savedHead: 5 } as const;

/** How many words a region's head has, and a limit. */
export const HEAD_WORDS = 8;

/** How many Float64 a limit has. */
export const FIELDS = 6;

/** `savedHead` of an account of which the file has nothing that counts. */
export const NEVER_SAVED = -1;

/** Regions are whole units of so many words, so that one that is given back fits another account. */
const UNIT_WORDS = 16;

/** The words before the first region: the table's lock, where the next region begins, how many there are, the free ones. */
const LOCK = 0;
const NEXT = 1;
const COUNT = 2;
const FREE = 16;
const MOST_UNITS = Math.ceil((HEAD_WORDS + 4 * (FIELDS * 2 + 1_024)) / UNIT_WORDS);
const FIRST = Math.ceil((FREE + MOST_UNITS + 1) / UNIT_WORDS) * UNIT_WORDS;

/** JavaScriptCore counts shared memory as garbage to come: it is as long as what is in use. */
const GROWTH_BYTES = 1 << 20;

/** Makes memory for accounts: 1 GiB at most (200 000 keys with the default limits), none of it used yet. */
export function createSharedBuffers(maxBytes = 2 ** 30, places = 2 ** 18): SharedBuffers {
  const arena = new SharedArrayBuffer(GROWTH_BYTES, { maxByteLength: maxBytes });
  new Int32Array(arena)[NEXT] = FIRST;
  return { arena, table: new SharedArrayBuffer(places * 12) };
}

/** Opens it for a thread with this number. */
export function openAccountMemory(
  { arena, table }: SharedBuffers,
  holder: number,
  mostNaps = MOST_NAPS,
): AccountMemory {
  const words = new Int32Array(arena, 0, arena.byteLength / 4);
  return { arena, table, holder, mostNaps, places: new Int32Array(table), words, lookAt: 0 };
}

/** How many accounts there are. */
export function accountCount({ words }: AccountMemory): number {
  return Atomics.load(words, COUNT);
}

/** All of the arena as it is now. */
export function wordsOf(memory: AccountMemory): Int32Array {
  if (memory.words.byteLength < memory.arena.byteLength) {
    memory.words = new Int32Array(memory.arena, 0, memory.arena.byteLength / 4);
  }
  return memory.words;
}

/** Runs a function while no other thread looks for, makes or takes away a region. */
export function withTable<T>(memory: AccountMemory, act: () => T): T {
  takeLock(memory.words, LOCK, memory.holder, memory.mostNaps);
  try {
    return act();
  } finally {
    releaseLock(memory.words, LOCK);
  }
}

/** Where the region of an identifier begins, or 0. Inside {@link withTable}. */
export function findRegion(memory: AccountMemory, first: number, second: number): number {
  const place = placeOf(memory.places, first, second);
  return memory.places[place] === 0 ? 0 : (memory.places[place + 2] as number);
}

/**
 * Makes a region for these limits, which are by window, and lets `fill` write its fields and stamps before anybody finds
 * it by the identifier; one that it has already is given back. Inside {@link withTable}. Throws `busy` where none is left.
 */
export function putRegion(
  memory: AccountMemory,
  [first, second]: readonly [number, number],
  limits: readonly RateLimit[],
  fill: (at: number) => void,
): number {
  const place = placeOf(memory.places, first, second);
  const former = memory.places[place] === 0 ? 0 : (memory.places[place + 2] as number);
  const at = takeRegion(memory, limits, former === 0);
  const words = wordsOf(memory);
  fill(at);
  words[at + HEAD.second] = second;
  Atomics.store(words, at + HEAD.first, first);
  if (former !== 0) retire(memory, former);
  memory.places[place + 1] = second;
  memory.places[place + 2] = at;
  Atomics.store(memory.places, place, first);
  if (former === 0) Atomics.add(words, COUNT, 1);
  else giveBack(memory, former);
  return at;
}

/** Makes a region nobody's, so that who knows it looks for the account anew. */
function retire(memory: AccountMemory, at: number): void {
  const words = wordsOf(memory);
  takeLock(words, at + HEAD.lock, memory.holder, memory.mostNaps);
  words[at + HEAD.first] = 0;
  releaseLock(words, at + HEAD.lock);
}

function takeRegion(memory: AccountMemory, limits: readonly RateLimit[], isMore: boolean): number {
  const stamps = limits.reduce((sum, { quota }) => sum + ringLength(quota), 0);
  const units = Math.ceil((HEAD_WORDS + limits.length * FIELDS * 2 + stamps) / UNIT_WORDS);
  const isFull = isMore && accountCount(memory) >= memory.places.length / 4;
  const free = isFull ? 0 : (memory.words[FREE + units] as number);
  const at = free === 0 ? (memory.words[NEXT] as number) : free;
  if (free !== 0) memory.words[FREE + units] = wordsOf(memory)[at + HEAD.next] as number;
  else if (isFull || !reach(memory, at + units * UNIT_WORDS)) {
    throw new AppError('busy', 'There is no memory left for the rate limits of one more key.');
  }
  const words = wordsOf(memory);
  words[at + HEAD.units] = units;
  words[at + HEAD.limits] = limits.length;
  words[at + HEAD.isDirty] = 0;
  if (free === 0) Atomics.store(memory.words, NEXT, at + units * UNIT_WORDS);
  return at;
}

function reach({ arena }: AccountMemory, endWord: number): boolean {
  const wanted = endWord * 4;
  if (wanted > arena.maxByteLength) return false;
  if (wanted > arena.byteLength) arena.grow(Math.min(arena.maxByteLength, wanted + GROWTH_BYTES));
  return true;
}

/**
 * Takes away an account whose region, here, is nobody's already; it is free for another. Inside {@link withTable}. Where a
 * thread died while it made the region, the table may know nothing of it, or have another for the account.
 */
export function removeRegion(memory: AccountMemory, at: number, first: number, second: number): void {
  const { places } = memory;
  const place = placeOf(places, first, second);
  if (places[place] !== 0 && places[place + 2] === at) {
    emptyPlace(places, place);
    Atomics.sub(memory.words, COUNT, 1);
  }
  giveBack(memory, at);
}

function giveBack(memory: AccountMemory, at: number): void {
  const words = wordsOf(memory);
  const free = FREE + (words[at + HEAD.units] as number);
  words[at + HEAD.next] = words[free] as number;
  words[free] = at;
}

/** Where each region begins, used or not: those from `start` on first, then those before it. */
export function* regionsFrom(memory: AccountMemory, start: number): Generator<number> {
  for (const at of regionsOf(memory)) if (at >= start) yield at;
  for (const at of regionsOf(memory)) {
    if (at >= start) return;
    yield at;
  }
}

/** Where each region begins, used or not. */
export function* regionsOf(memory: AccountMemory): Generator<number> {
  const end = Atomics.load(memory.words, NEXT);
  const words = wordsOf(memory);
  for (let at = FIRST; at < end; at += (words[at + HEAD.units] as number) * UNIT_WORDS) yield at;
}

/** Frees every lock that a thread held when it ended. */
export function freeLocksOf(memory: AccountMemory, holder: number): void {
  freeLock(memory.words, LOCK, holder);
  const words = wordsOf(memory);
  for (const at of regionsOf(memory)) freeLock(words, at + HEAD.lock, holder);
}
