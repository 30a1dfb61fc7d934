import type { Clock } from '../../shared/clock.ts';
import { createRing, quantise } from '../../shared/keys/ring.ts';
import type { Random } from '../../shared/keys/secret.ts';
import { freeLock, MOST_NAPS, releaseLock, takeLock } from '../../shared/keys/shared-lock.ts';
import { FAILURES, fail, refuseLate, type Throttle } from '../throttle.ts';

// The throttle of all workers, in shared memory: sets of places, each set behind a lock of its own. An address belongs to one
// set, where the one that failed longest ago makes room. So a flood from any number of addresses takes no more memory.

/** A set begins with its lock; a place has the address's two words, four Float64 and the stamps. */
const LOCK_WORDS = 2;
const PLACES = 32;
const FIELDS = { seenAt: 0, newestStep: 1, head: 2, tail: 3 } as const;
const STAMPS_AT = 2 + 4 * 2;
const PLACE_WORDS = STAMPS_AT + FAILURES.quota;
const SET_WORDS = LOCK_WORDS + PLACES * PLACE_WORDS;

/** Memory for so many sets; 2048 remember 65 536 addresses in 10 MB, of which only what is used is taken. */
export function createThrottleMemory(random: Random, sets = 2_048): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(sets * SET_WORDS * 4);
  // Behind each lock a word is free. So nobody can compute addresses that fall into one set.
  new Uint8Array(memory).set(random(4), 4);
  return memory;
}

/** One thread's way to the throttle of all; the number is what its locks show. */
export function joinThrottle(memory: SharedArrayBuffer, holder: number, clock: Clock): Throttle {
  const words = new Int32Array(memory);
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
        const place = placeOf(words, set, first, second);
        wait = failAt(memory, words, place, first, second, quantise(clock.monotonicMs()));
      } finally {
        releaseLock(words, set);
      }
      refuseLate(wait);
    },
  };
}

/** The place of an address, or else that of the one that failed longest ago. */
function placeOf(words: Int32Array, set: number, first: number, second: number): number {
  const seenAt = new Float64Array(words.buffer, 8);
  let oldest = set + LOCK_WORDS;
  for (let index = 0; index < PLACES; index++) {
    const place = set + LOCK_WORDS + index * PLACE_WORDS;
    if (words[place] === first && words[place + 1] === second) return place;
    if ((seenAt[place / 2] as number) < (seenAt[oldest / 2] as number)) oldest = place;
  }
  return oldest;
}

function failAt(
  memory: SharedArrayBuffer,
  words: Int32Array,
  place: number,
  first: number,
  second: number,
  now: number,
): number | null {
  const fields = new Float64Array(memory, (place + 2) * 4, 4);
  const isKnown = words[place] === first && words[place + 1] === second;
  if (!isKnown) fields.fill(0);
  const ring = createRing(FAILURES, new Uint32Array(memory, (place + STAMPS_AT) * 4, FAILURES.quota));
  ring.newestStep = fields[FIELDS.newestStep] as number;
  ring.head = fields[FIELDS.head] as number;
  ring.tail = fields[FIELDS.tail] as number;
  const wait = fail(ring, now);
  fields[FIELDS.seenAt] = now;
  fields[FIELDS.tail] = ring.tail;
  fields[FIELDS.newestStep] = ring.newestStep;
  fields[FIELDS.head] = ring.head;
  words[place] = first;
  words[place + 1] = second;
  return wait;
}

/** Frees every lock that a thread held when it ended. */
export function freeThrottleLocksOf(memory: SharedArrayBuffer, holder: number): void {
  const words = new Int32Array(memory);
  for (let set = 0; set < words.length; set += SET_WORDS) freeLock(words, set, holder);
}
