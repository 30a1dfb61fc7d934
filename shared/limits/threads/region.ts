import { refitRings } from '../account.ts';
import type { RateLimit } from '../rate-limit.ts';
import { createRing, fitRing, type Ring, ringLength, usedAt } from '../ring.ts';
import { releaseLock, takeLock } from './lock.ts';
import { FIELD, FIELDS, HEAD, HEAD_WORDS, MOST_RINGS, putRegion, type SharedMemory } from './memory.ts';

// How the rings of an account lie in its region of shared memory. In a region rings are ordered by window, whatever order the
// limits were granted in, so that all threads find them at the same places.

/** A region as one thread sees it. */
export type Region = {
  readonly at: number;
  /** The two words of the identifier of the account that lay here when this thread looked, and the region's number then. */
  readonly first: number;
  readonly second: number;
  readonly made: number;
  readonly head: Int32Array;
  readonly fields: Float64Array;
};

/** Looks at the region that lies at a position. */
export function viewRegion({ arena }: SharedMemory, at: number): Region {
  const head = new Int32Array(arena, at * 4, HEAD_WORDS);
  const fields = new Float64Array(arena, (at + HEAD_WORDS) * 4, FIELDS * (head[HEAD.rings] as number));
  const [first, second, made] = [head[HEAD.first], head[HEAD.second], head[HEAD.made]] as [number, number, number];
  return { at, head, fields, first, second, made };
}

/** True while the account may be spent from a region, and the region is the one that was looked at. */
export function isStill({ head, first, made }: Region): boolean {
  return head[HEAD.made] === made && head[HEAD.first] === first && first !== 0;
}

/** The rings of a region over the stamps themselves; each has its capacity as quota. While the region is held. */
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

/** Brings a ring up to what its place in a region says, while the region is held. */
export function readRing({ fields }: Region, index: number, ring: Ring): void {
  const at = index * FIELDS;
  ring.head = fields[at + FIELD.head] as number;
  ring.tail = fields[at + FIELD.tail] as number;
  ring.newestStep = fields[at + FIELD.newestStep] as number;
  ring.savedHead = fields[at + FIELD.savedHead] as number;
}

/** Copies of a region's rings, by window, as they stand between two requests. */
export function copyRings(memory: SharedMemory, at: number): Ring[] {
  return withRegion(memory, at, () => ringsAt(memory, at).map((ring) => ({ ...ring, stamps: ring.stamps.slice() })));
}

/** Writes these rings, by window, into a region that no thread can find yet. */
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
 * The region for an account's limits: the one found (0: none), which this thread holds, if it is laid out for them; else a
 * new one that takes over what was spent. That keeps the rings of other windows while they are in use, since a thread
 * that has not heard of a change of the limits may ask for them. Inside `withTable`. Returns 0 where no memory is left.
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
  const others = former.filter((ring) => rings.every(({ windowMs }) => windowMs !== ring.windowMs));
  const used = others.filter((ring) => usedAt(ring, now) > 0).slice(0, MOST_RINGS - rings.length);
  const all = [...rings, ...used].sort(byWindow);
  return putRegion(memory, words, layoutOf(all), found, (at) => {
    fillRegion(memory, at, all, 0);
    // What the file says of the former layout does not count for this one, so that all of it has to be written.
    if (found !== 0) viewRegion(memory, at).head[HEAD.isChanged] = 1;
  });
}

/** These rings by window, as capacities and windows. */
export function layoutOf(rings: readonly Ring[]): RateLimit[] {
  return rings.map(({ capacity, windowMs }) => ({ quota: capacity, windowSeconds: windowMs / 1000 }));
}

/** The order of rings in a region. A key has one ring of a window. */
export function byWindow(one: Ring, other: Ring): number {
  return one.windowMs - other.windowMs;
}

/** Runs a function while no other thread spends from the account that lies there. */
export function withRegion<T>(memory: SharedMemory, at: number, act: () => T): T {
  const { head } = viewRegion(memory, at);
  takeLock(head, HEAD.lock, memory.holder, memory.mostNaps);
  try {
    return act();
  } finally {
    releaseLock(head, HEAD.lock);
  }
}
