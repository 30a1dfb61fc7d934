import { type AccountMemory, FIELD, FIELDS, HEAD, HEAD_WORDS } from './account-memory.ts';
import type { RateLimit } from './rate-limit.ts';
import { createRing, fitRing, type Ring, ringLength } from './ring.ts';
import { releaseLock, takeLock } from './shared-lock.ts';

// How the rings of an account lie in its region of shared memory.

/** Where an account lies, as one thread sees it. */
export type Region = {
  readonly first: number;
  readonly second: number;
  readonly head: Int32Array;
  readonly fields: Float64Array;
  /** For each ring of the account, where its fields begin. */
  readonly fieldsOf: readonly number[];
};

/** The order in which limits lie in a region, whoever makes it: a key has one of a window. */
export function byWindow(one: RateLimit, other: RateLimit): number {
  return one.windowSeconds - other.windowSeconds;
}

/** Looks at a region. */
export function viewRegion({ arena }: AccountMemory, at: number): Omit<Region, 'fieldsOf'> {
  const head = new Int32Array(arena, at * 4, HEAD_WORDS);
  const fields = new Float64Array(arena, (at + HEAD_WORDS) * 4, FIELDS * 4);
  return { head, fields, first: head[HEAD.first] as number, second: head[HEAD.second] as number };
}

/** The limits of a region, by window. */
export function limitsAt(memory: AccountMemory, at: number): RateLimit[] {
  const { head, fields } = viewRegion(memory, at);
  return Array.from({ length: head[HEAD.limits] as number }, (_, index) => ({
    quota: fields[index * FIELDS + FIELD.quota] as number,
    windowSeconds: fields[index * FIELDS + FIELD.windowSeconds] as number,
  }));
}

/** The stamps of one of these limits. */
export function stampsAt(
  { arena }: AccountMemory,
  at: number,
  limits: readonly RateLimit[],
  index: number,
): Uint32Array {
  const before = limits.slice(0, index).reduce((sum, { quota }) => sum + ringLength(quota), 0);
  const start = at + HEAD_WORDS + limits.length * FIELDS * 2 + before;
  return new Uint32Array(arena, start * 4, ringLength((limits[index] as RateLimit).quota));
}

/** Writes a region that nobody finds yet: these limits, those of these rings that fit them, the others empty. */
export function fillRegion(
  memory: AccountMemory,
  at: number,
  limits: readonly RateLimit[],
  rings: readonly Ring[],
  savedHead: number | null,
): void {
  const { fields } = viewRegion(memory, at);
  for (const [index, limit] of limits.entries()) {
    const like = rings.find(({ quota, windowMs }) => quota === limit.quota && windowMs === limit.windowSeconds * 1000);
    const ring = like ?? createRing(limit);
    const laid = { ...ring, stamps: stampsAt(memory, at, limits, index) };
    fitRing(ring, laid.stamps.length);
    laid.stamps.set(ring.stamps);
    const { head, tail, newestStep } = laid;
    fields.set([limit.quota, limit.windowSeconds, head, tail, newestStep, savedHead ?? head], index * FIELDS);
  }
}

/** Brings rings up to what a region says, while it is held. Returns the time of the newest request. */
export function readRings({ fields, fieldsOf }: Region, rings: readonly Ring[]): number {
  let newest = 0;
  for (let index = 0; index < rings.length; index++) {
    const ring = rings[index] as Ring;
    const at = fieldsOf[index] as number;
    ring.head = fields[at + FIELD.head] as number;
    ring.tail = fields[at + FIELD.tail] as number;
    ring.newestStep = fields[at + FIELD.newestStep] as number;
    newest = Math.max(newest, ring.newestStep * ring.stepMs);
  }
  return newest;
}

/** A region's rings, by window, over the stamps themselves. While it is held. */
export function ringsAt(memory: AccountMemory, at: number): Ring[] {
  const limits = limitsAt(memory, at);
  const rings = limits.map((limit, index) => createRing(limit, stampsAt(memory, at, limits, index)));
  readRings({ ...viewRegion(memory, at), fieldsOf: rings.map((_, index) => index * FIELDS) }, rings);
  return rings;
}

/** Runs a function while no other thread spends from the account that lies there. */
export function withRegion<T>(memory: AccountMemory, at: number, act: () => T): T {
  const { head } = viewRegion(memory, at);
  takeLock(head, HEAD.lock, memory.holder, memory.mostNaps);
  try {
    return act();
  } finally {
    releaseLock(head, HEAD.lock);
  }
}

/** A copy of a region's rings, by window, as they stand between two requests. */
export function copyRings(memory: AccountMemory, at: number): Ring[] {
  return withRegion(memory, at, () => ringsAt(memory, at).map((ring) => ({ ...ring, stamps: ring.stamps.slice() })));
}
