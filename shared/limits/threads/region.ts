import { formerRings, refitRings } from '../account.ts';
import type { RateLimit } from '../rate-limit.ts';
import { createRing, fitRing, type Ring, ringLength } from '../ring.ts';
import { releaseLock, takeLock } from './lock.ts';
import { FIELD, FIELDS, HEAD, HEAD_WORDS, putRegion, type SharedMemory } from './memory.ts';

// The rings of an account in its region of shared memory. They are ordered by window, not as the limits were granted, so that all
// threads find them at the same index.

/** One thread's view of a region. */
export type Region = {
  readonly at: number;
  /** The identifier's two words, and the region's number, when the view was made. */
  readonly first: number;
  readonly second: number;
  readonly made: number;
  readonly head: Int32Array;
  readonly fields: Float64Array;
};

/** Makes a view of the region at a position. */
export function viewRegion({ arena }: SharedMemory, at: number): Region {
  const head = new Int32Array(arena, at * 4, HEAD_WORDS);
  const fields = new Float64Array(arena, (at + HEAD_WORDS) * 4, FIELDS * (head[HEAD.rings] as number));
  const [first, second, made] = [head[HEAD.first], head[HEAD.second], head[HEAD.made]] as [number, number, number];
  return { at, head, fields, first, second, made };
}

/** Whether requests may be spent from the region, and it still belongs to the same account as when the view was made. */
export function isStill({ head, first, made }: Region): boolean {
  return head[HEAD.made] === made && head[HEAD.first] === first && first !== 0;
}

/** The rings of a region; their `stamps` are the shared memory, their quota is their capacity. Call under the region's lock. */
export function ringsAt(memory: SharedMemory, at: number): Ring[] {
  const region = viewRegion(memory, at);
  const count = region.head[HEAD.rings] as number;
  let start = (at + HEAD_WORDS) * 4 + count * FIELDS * 8;
  return Array.from({ length: count }, (_, index) => {
    const quota = region.fields[index * FIELDS + FIELD.capacity] as number;
    const windowSeconds = region.fields[index * FIELDS + FIELD.windowSeconds] as number;
    const ring = createRing({ quota, windowSeconds }, quota, new Uint32Array(memory.arena, start, ringLength(quota)));
    start += ring.stamps.byteLength;
    readRing(region, index, ring);
    return ring;
  });
}

/** Copies a ring's fields from the region into `ring`. Call under the region's lock. */
export function readRing({ fields }: Region, index: number, ring: Ring): void {
  const at = index * FIELDS;
  ring.head = fields[at + FIELD.head] as number;
  ring.tail = fields[at + FIELD.tail] as number;
  ring.newestStep = fields[at + FIELD.newestStep] as number;
  ring.savedHead = fields[at + FIELD.savedHead] as number;
}

/** Copies the rings of a region, under its lock. */
export function copyRings(memory: SharedMemory, at: number): Ring[] {
  return withRegion(memory, at, () => ringsAt(memory, at).map((ring) => ({ ...ring, stamps: ring.stamps.slice() })));
}

/** Writes rings, ordered by window, into a region that no thread can find yet. */
export function fillRegion(memory: SharedMemory, at: number, rings: readonly Ring[], firstRow: number): void {
  const { head, fields } = viewRegion(memory, at);
  head[HEAD.firstRow] = firstRow;
  for (const [index, { capacity, windowMs }] of rings.entries()) {
    fields.set([capacity, windowMs / 1000], index * FIELDS);
  }
  for (const [index, laid] of ringsAt(memory, at).entries()) {
    const ring = { ...(rings[index] as Ring) };
    fitRing(ring, laid.stamps.length);
    laid.stamps.set(ring.stamps);
    fields.set([ring.head, ring.tail, ring.newestStep, ring.savedHead], index * FIELDS + FIELD.head);
  }
}

/**
 * Returns the position of a region with the layout of `limits`: `found` (0: none), whose lock this thread holds, if its layout
 * fits; otherwise a new region with the same requests. A new region also keeps the rings of other windows while they are in use,
 * because a thread that has not seen a change of limits yet may need them. Call inside `withTable`. Returns 0 if no memory is
 * left.
 */
export function regionFor(
  memory: SharedMemory,
  words: readonly [number, number],
  found: number,
  limits: readonly RateLimit[],
  now: number,
): number {
  const former = found === 0 ? [] : ringsAt(memory, found);
  const rings = refitRings(limits, former, now);
  const isLaid = ({ windowMs, capacity }: Ring) =>
    former.some((ring) => ring.windowMs === windowMs && ring.capacity === capacity);
  if (rings.every(isLaid)) return found;
  const all = [...rings, ...formerRings(limits, former, now)].sort(byWindow);
  return putRegion(memory, words, layoutOf(all), found, (at) => {
    fillRegion(memory, at, all, 0);
    // The quota file has the former layout, so the whole account has to be written again.
    if (found !== 0) viewRegion(memory, at).head[HEAD.isChanged] = 1;
  });
}

/** The capacities and windows of rings, in the same order. */
export function layoutOf(rings: readonly Ring[]): RateLimit[] {
  return rings.map(({ capacity, windowMs }) => ({ quota: capacity, windowSeconds: windowMs / 1000 }));
}

/** Compares two rings by window, the order in a region. */
export function byWindow(one: Ring, other: Ring): number {
  return one.windowMs - other.windowMs;
}

/** Runs a function under the lock of the region at this position, so that no other thread spends from it. Throws `busy`. */
export function withRegion<T>(memory: SharedMemory, at: number, act: () => T): T {
  const { head } = viewRegion(memory, at);
  takeLock(head, HEAD.lock, memory.holder, memory.maxSleeps);
  try {
    return act();
  } finally {
    releaseLock(head, HEAD.lock);
  }
}
