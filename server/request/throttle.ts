import type { Clock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import { createRing, quantise, record, retryAfterSeconds, waitForAllMs } from '../../shared/limits/ring.ts';
import { freeLock, MOST_NAPS, releaseLock, takeLock } from '../../shared/limits/threads/lock.ts';
import type { Random } from '../../shared/random.ts';

/** So many refused credentials an address may have in any window of so many seconds. */
export const FAILURES = { quota: 30, windowSeconds: 60 } as const;

/** Counts failed authentications by address block. */
export type Throttle = {
  /** Counts one. Throws `too_many_failures`, and counts nothing, where the block has had its share. */
  count: (block: string) => void;
};

// All workers count in the same memory, and a single one in the same way: sets of places, each set behind a lock of its own.
// An address belongs to one set, where the one that failed longest ago makes room. So a flood from any number of addresses
// takes no more memory, and leaves nothing to collect.

/** A set begins with its lock; a place has the address's two words, four Float64 and the stamps. */
const LOCK_WORDS = 2;
const PLACES = 32;
const FIELDS = { seenAt: 0, newestStep: 1, head: 2, tail: 3 } as const;
const STAMPS_AT = 2 + 4 * 2;
const PLACE_WORDS = STAMPS_AT + FAILURES.quota;
const SET_WORDS = LOCK_WORDS + PLACES * PLACE_WORDS;

/**
 * Memory for so many sets; 512 of them remember 16 384 addresses in 3 MB. The system gives only what is used of it, but
 * JavaScriptCore counts all of it, and lets three times as much garbage gather.
 */
export function createThrottleMemory(random: Random, sets = 512): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(sets * SET_WORDS * 4);
  // Behind each lock a word is free. So nobody can compute addresses that fall into one set.
  new Uint8Array(memory).set(random(4), 4);
  return memory;
}

/** A thread's way to the throttle; `holder`, not 0, is what its locks show. */
export function joinThrottle(memory: SharedArrayBuffer, holder: number, clock: Clock): Throttle {
  const words = new Int32Array(memory);
  const fields = new Float64Array(memory);
  const seed = (words[1] as number) >>> 0;
  return {
    count: (block) => {
      // Two hashes are as good as the address: 64 bits, of which the first word is never 0.
      const first = Bun.hash.xxHash32(block, seed) | 1;
      const second = Bun.hash.xxHash32(block, seed + 1) | 0;
      const set = ((second >>> 0) % (words.length / SET_WORDS)) * SET_WORDS;
      takeLock(words, set, holder, MOST_NAPS);
      let wait: number | null;
      try {
        const place = placeOf(words, fields, set, first, second);
        wait = failAt(words, fields, place, first, second, quantise(clock.monotonicMs()));
      } finally {
        releaseLock(words, set);
      }
      if (wait === null) return;
      throw new AppError('too_many_failures', null, { retryAfterSeconds: retryAfterSeconds(wait) });
    },
  };
}

/** Where the fields of a place begin: it has an even number of words. */
const fieldsOf = (place: number) => place / 2 + 1;

/** The place of an address, or else that of the one that failed longest ago. */
function placeOf(words: Int32Array, fields: Float64Array, set: number, first: number, second: number): number {
  const seenAt = (place: number) => fields[fieldsOf(place) + FIELDS.seenAt] as number;
  let oldest = set + LOCK_WORDS;
  for (let place = oldest; place < set + SET_WORDS; place += PLACE_WORDS) {
    if (words[place] === first && words[place + 1] === second) return place;
    if (seenAt(place) < seenAt(oldest)) oldest = place;
  }
  return oldest;
}

/** Records a failure where there is room for it, and returns null; else the milliseconds until there is. */
function failAt(
  words: Int32Array,
  fields: Float64Array,
  place: number,
  first: number,
  second: number,
  now: number,
): number | null {
  const at = fieldsOf(place);
  if (words[place] !== first || words[place + 1] !== second) fields.fill(0, at, at + 4);
  const ring = createRing(
    FAILURES,
    FAILURES.quota,
    new Uint32Array(words.buffer, (place + STAMPS_AT) * 4, FAILURES.quota),
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
  words[place] = first;
  words[place + 1] = second;
  return wait;
}

/** Frees every lock that a thread held when it ended. */
export function freeThrottleLocksOf(memory: SharedArrayBuffer, holder: number): void {
  const words = new Int32Array(memory);
  for (let set = 0; set < words.length; set += SET_WORDS) freeLock(words, set, holder);
}
