import { MAX_RINGS } from '../account.ts';
import type { RateLimit } from '../rate-limit.ts';
import { MAX_GROUPS, ringLength } from '../ring.ts';
import { freeLock, MAX_SLEEPS, releaseLock, takeLock } from './lock.ts';
import { emptySlot, slotOf } from './table.ts';

// The accounts of a server with several workers, in shared memory. Each account has a region, and a hash table has the position
// of the region by identifier. The memory is consistent at whatever step a thread dies: at worst there is a region that is not in
// the table, which the next sweep frees.

/** The shared memory, as passed between threads; {@link openSharedMemory} opens it in a thread. */
export type SharedBuffers = { arena: SharedArrayBuffer; table: SharedArrayBuffer };

/** One thread's access to the shared memory. */
export type SharedMemory = SharedBuffers & {
  /** This thread's number in locks; not 0. */
  readonly holder: number;
  readonly maxSleeps: number;
  /** The hash table: three words for each slot (`table.ts`). */
  readonly slots: Int32Array;
  /** The arena in 32-bit words, with its length at the last call of {@link wordsOf}. */
  words: Int32Array;
};

/** The words at the start of a region. Six Float64 for each ring ({@link FIELD}) follow, by window, and then the stamps. */
export const HEAD = {
  lock: 0,
  /** The two words of the identifier; the first is 0 while no request may be spent from this region. */
  first: 1,
  second: 2,
  units: 3,
  rings: 4,
  isChanged: 5,
  /** In a free region: the next region in the list of free ones. */
  next: 6,
  firstRow: 7,
  /** A new number for each created region, by which a thread notices that a region was replaced. */
  made: 8,
} as const;

/** The Float64 values of a ring. */
export const FIELD = { capacity: 0, windowSeconds: 1, head: 2, tail: 3, newestStep: 4, savedHead: 5 } as const;

/** The number of words in a region's header. */
export const HEAD_WORDS = 10;

/** The number of Float64 fields of a ring. */
export const FIELDS = 6;

/** Regions consist of whole units, so that a freed region fits another account. */
const UNIT_WORDS = 16;

// The words before the first region: the table's lock, the end of the last region, the number of accounts, the number of regions
// ever made, and for each length in units the head of a list of free regions.
const LOCK = 0;
const NEXT = 1;
const COUNT = 2;
const MADE = 3;
const FREE = 16;
const MAX_UNITS = Math.ceil((HEAD_WORDS + MAX_RINGS * (FIELDS * 2 + MAX_GROUPS)) / UNIT_WORDS);
const FIRST = Math.ceil((FREE + MAX_UNITS + 1) / UNIT_WORDS) * UNIT_WORDS;

/** The memory starts small and grows in steps, because large shared memory delays garbage collection. */
const GROWTH_BYTES = 1 << 20;

/**
 * Allocates memory that can grow to `maxBytes`, and a hash table with `slots` slots. The defaults suffice for about 200 000 keys
 * with the default limits.
 */
export function createSharedBuffers(maxBytes = 2 ** 30, slots = 2 ** 18): SharedBuffers {
  const arena = new SharedArrayBuffer(GROWTH_BYTES, { maxByteLength: maxBytes });
  new Int32Array(arena)[NEXT] = FIRST;
  return { arena, table: new SharedArrayBuffer(slots * 12) };
}

/** Opens the memory in the thread with this number. */
export function openSharedMemory(buffers: SharedBuffers, holder: number, maxSleeps = MAX_SLEEPS): SharedMemory {
  const words = new Int32Array(buffers.arena, 0, buffers.arena.byteLength / 4);
  return { ...buffers, holder, maxSleeps, slots: new Int32Array(buffers.table), words };
}

/** The number of accounts in memory. */
export function accountCount({ words }: SharedMemory): number {
  return Atomics.load(words, COUNT);
}

/** The whole arena, even if other threads have made it grow. */
export function wordsOf(memory: SharedMemory): Int32Array {
  if (memory.words.byteLength < memory.arena.byteLength) {
    memory.words = new Int32Array(memory.arena, 0, memory.arena.byteLength / 4);
  }
  return memory.words;
}

/** Runs a function under the table's lock, so that no other thread finds, makes or removes a region. Throws `busy`. */
export function withTable<T>(memory: SharedMemory, act: () => T): T {
  takeLock(memory.words, LOCK, memory.holder, memory.maxSleeps);
  try {
    return act();
  } finally {
    releaseLock(memory.words, LOCK);
  }
}

/** The position of an identifier's region, or 0. Call inside {@link withTable}. */
export function findRegion(memory: SharedMemory, first: number, second: number): number {
  const slot = slotOf(memory.slots, first, second);
  return memory.slots[slot] === 0 ? 0 : (memory.slots[slot + 2] as number);
}

/**
 * Makes a region for rings with this layout (by window), which `fill` fills before any thread can find it. `former` is the
 * account's previous region (0: none), which is freed, so this thread must hold its lock. Call inside {@link withTable}. Returns
 * the new region's position, or 0 if no memory is left.
 */
export function putRegion(
  memory: SharedMemory,
  [first, second]: readonly [number, number],
  layout: readonly RateLimit[],
  former: number,
  fill: (at: number) => void,
): number {
  const at = takeRegion(memory, layout, former === 0);
  if (at === 0) return 0;
  const words = wordsOf(memory);
  fill(at);
  // A thread that still uses the former region sees this 0 and looks the account up again.
  if (former !== 0) words[former + HEAD.first] = 0;
  const slot = slotOf(memory.slots, first, second);
  memory.slots[slot + 1] = second;
  memory.slots[slot + 2] = at;
  Atomics.store(memory.slots, slot, first);
  nameRegion(memory, at, [first, second]);
  if (former === 0) Atomics.add(words, COUNT, 1);
  else freeRegion(memory, former);
  return at;
}

/**
 * Writes the identifier into a region, which allows spending from it. This is the last step of {@link putRegion}; if its thread
 * died before, the next thread that finds the region in the table does it. Call inside {@link withTable}.
 */
export function nameRegion(memory: SharedMemory, at: number, [first, second]: readonly [number, number]): void {
  const words = wordsOf(memory);
  words[at + HEAD.second] = second;
  Atomics.store(words, at + HEAD.first, first);
}

function takeRegion(memory: SharedMemory, layout: readonly RateLimit[], isMore: boolean): number {
  const stamps = layout.reduce((sum, { quota }) => sum + ringLength(quota), 0);
  const units = Math.ceil((HEAD_WORDS + layout.length * FIELDS * 2 + stamps) / UNIT_WORDS);
  if (isMore && accountCount(memory) >= memory.slots.length / 4) return 0;
  const free = memory.words[FREE + units] as number;
  const at = free === 0 ? (memory.words[NEXT] as number) : free;
  if (free !== 0) memory.words[FREE + units] = wordsOf(memory)[at + HEAD.next] as number;
  else if (!reach(memory, at + units * UNIT_WORDS)) return 0;
  const words = wordsOf(memory);
  words[at + HEAD.units] = units;
  words[at + HEAD.rings] = layout.length;
  words[at + HEAD.isChanged] = 0;
  words[at + HEAD.first] = 0;
  words[at + HEAD.made] = Atomics.add(memory.words, MADE, 1) + 1;
  if (free === 0) Atomics.store(memory.words, NEXT, at + units * UNIT_WORDS);
  return at;
}

function reach({ arena }: SharedMemory, endWord: number): boolean {
  const wanted = endWord * 4;
  if (wanted > arena.maxByteLength) return false;
  if (wanted > arena.byteLength) arena.grow(Math.min(arena.maxByteLength, wanted + GROWTH_BYTES));
  return true;
}

/**
 * Frees the region at `at`, in which the identifier's first word is already 0, and removes the account, unless the table has
 * another region or none for it, as after the death of a thread. Call inside {@link withTable}.
 */
export function removeRegion(memory: SharedMemory, at: number, first: number, second: number): void {
  const { slots } = memory;
  const slot = slotOf(slots, first, second);
  if (slots[slot] !== 0 && slots[slot + 2] === at) {
    emptySlot(slots, slot);
    Atomics.sub(memory.words, COUNT, 1);
  }
  freeRegion(memory, at);
}

function freeRegion(memory: SharedMemory, at: number): void {
  const words = wordsOf(memory);
  const free = FREE + (words[at + HEAD.units] as number);
  words[at + HEAD.next] = words[free] as number;
  words[free] = at;
}

/** The positions of all regions, used or free. */
export function* regionsOf(memory: SharedMemory): Generator<number> {
  const end = Atomics.load(memory.words, NEXT);
  const words = wordsOf(memory);
  for (let at = FIRST; at < end; at += (words[at + HEAD.units] as number) * UNIT_WORDS) yield at;
}

/** Frees every lock of the dead thread with this number. */
export function freeLocksOf(memory: SharedMemory, holder: number): void {
  freeLock(memory.words, LOCK, holder);
  const words = wordsOf(memory);
  for (const at of regionsOf(memory)) freeLock(words, at + HEAD.lock, holder);
}
