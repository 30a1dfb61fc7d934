import type { Clocks } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import { createRing, quantise, record, retryAfterSeconds, waitForAllMs } from '../../shared/limits/ring.ts';
import { freeLock, MAX_SLEEPS, releaseLock, takeLock } from '../../shared/limits/threads/lock.ts';
import type { Random } from '../../shared/random.ts';

/** How many failed logins an IP address may have in any window of this length. */
export const FAILURES = { quota: 30, windowSeconds: 60 } as const;

// Failed logins are counted by address block in memory that all workers share. It is a set-associative cache: a block hashes to
// one set, which has a lock, and uses one of its slots; in a full set it replaces the block that failed longest ago. So a flood
// from any number of addresses needs no more memory, and creates no garbage.

/** A set begins with its lock. A slot has two words that name the block, then four Float64, then the ring's time stamps. */
const LOCK_WORDS = 2;
const SLOTS = 32;
const FIELDS = { seenAt: 0, newestStep: 1, head: 2, tail: 3 } as const;
const STAMPS_AT = 2 + 4 * 2;
const SLOT_WORDS = STAMPS_AT + FAILURES.quota;
const SET_WORDS = LOCK_WORDS + SLOTS * SLOT_WORDS;

/** A thread's view of the counts; `words` and `fields` are the same memory. */
export type Throttle = {
  readonly words: Int32Array;
  readonly fields: Float64Array;
  /** Seeds the hash of addresses. */
  readonly seed: number;
  /** The number (not 0) that this thread writes into the locks it holds. */
  readonly holder: number;
  readonly clock: Clocks;
};

/**
 * Allocates `sets` sets: 512 hold 16 384 blocks in 3 MB. The operating system provides only the pages that are used, but
 * JavaScriptCore counts all of the memory as in use, and lets three times as much garbage accumulate.
 */
export function createThrottleMemory(random: Random, sets = 512): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(sets * SET_WORDS * 4);
  // The word after the first lock seeds the hash: without it, an attacker could compute addresses of one set.
  new Uint8Array(memory).set(random(4), 4);
  return memory;
}

/** The view of the thread with this number, which must not be 0. */
export function joinThrottle(memory: SharedArrayBuffer, holder: number, clock: Clocks): Throttle {
  const words = new Int32Array(memory);
  return { words, fields: new Float64Array(memory), seed: (words[1] as number) >>> 0, holder, clock };
}

const FAILED_LOGINS = 'requests without a valid API key or token';

/**
 * Counts a failed login, or another event, which the refusal calls `what`. Throws `too_many_failures`, and counts nothing, if
 * the block has no failures left.
 */
export function countFailure(
  { words, fields, seed, holder, clock }: Throttle,
  block: string,
  what = FAILED_LOGINS,
): void {
  // A block is identified by 64 bits of hashes. The first word is never 0, because 0 marks a free slot.
  const first = Bun.hash.xxHash32(block, seed) | 1;
  const second = Bun.hash.xxHash32(block, seed + 1) | 0;
  const set = ((second >>> 0) % (words.length / SET_WORDS)) * SET_WORDS;
  takeLock(words, set, holder, MAX_SLEEPS);
  let wait: number | null;
  try {
    const slot = slotOf(words, fields, set, first, second);
    wait = failAt(words, fields, slot, first, second, quantise(clock.monotonicMs()));
  } finally {
    releaseLock(words, set);
  }
  if (wait !== null) throw tooManyFailures(retryAfterSeconds(wait), what);
}

/** The refusal of an IP address that has no failures left for `seconds`. */
export function tooManyFailures(seconds: number, what = FAILED_LOGINS): AppError {
  const sentence = `More than ${FAILURES.quota} ${what} came from this IP address within ${FAILURES.windowSeconds} seconds; try again in ${seconds} s.`;
  return new AppError('too_many_failures', sentence, { retryAfterSeconds: seconds });
}

/** Frees the locks that a thread held when it died. */
export function freeThrottleLocksOf(memory: SharedArrayBuffer, holder: number): void {
  const words = new Int32Array(memory);
  for (let set = 0; set < words.length; set += SET_WORDS) freeLock(words, set, holder);
}

/** The index in `fields` of the first field of a slot, which begins at an even index in `words`. */
const fieldsOf = (slot: number) => slot / 2 + 1;

/** The slot of a block; if it has none, that of the block that failed longest ago. */
function slotOf(words: Int32Array, fields: Float64Array, set: number, first: number, second: number): number {
  const seenAt = (slot: number) => fields[fieldsOf(slot) + FIELDS.seenAt] as number;
  let oldest = set + LOCK_WORDS;
  for (let slot = oldest; slot < set + SET_WORDS; slot += SLOT_WORDS) {
    if (words[slot] === first && words[slot + 1] === second) return slot;
    if (seenAt(slot) < seenAt(oldest)) oldest = slot;
  }
  return oldest;
}

/** Records a failure and returns null; if the quota is used up, returns the milliseconds until there is room. */
function failAt(
  words: Int32Array,
  fields: Float64Array,
  slot: number,
  first: number,
  second: number,
  now: number,
): number | null {
  const at = fieldsOf(slot);
  if (words[slot] !== first || words[slot + 1] !== second) fields.fill(0, at, at + 4);
  const ring = createRing(
    FAILURES,
    FAILURES.quota,
    new Uint32Array(words.buffer, (slot + STAMPS_AT) * 4, FAILURES.quota),
  );
  ring.newestStep = fields[at + FIELDS.newestStep] as number;
  ring.head = fields[at + FIELDS.head] as number;
  ring.tail = fields[at + FIELDS.tail] as number;
  const wait = waitForAllMs([ring], now, 1);
  if (wait === null) record(ring, now, 1);
  fields[at + FIELDS.seenAt] = now;
  fields[at + FIELDS.tail] = ring.tail;
  fields[at + FIELDS.newestStep] = ring.newestStep;
  fields[at + FIELDS.head] = ring.head;
  words[slot] = first;
  words[slot + 1] = second;
  return wait;
}
