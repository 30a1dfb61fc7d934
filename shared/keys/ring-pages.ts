import { RATE_LIMIT_BOUNDS, type RateLimit } from './rate-limit.ts';
import { createRing, fitRing, MAX_GROUPS, newestGroup, type Ring, remainingAt, ringLength, timeOf } from './ring.ts';

// How a ring lies in a file: its full length of time stamps in milliseconds, cut into pages, so that little is written of a long one.

/** A page of a ring: some of its stamps (Float64 in this machine's byte order), and the head when it was written. */
export type RingPage = { windowSeconds: number; page: number; quota: number; head: number; stamps: Uint8Array };

/** What the log has of a ring: for each save the row's number, the head, how many times are new ({@link changedTimes}), these. */
export type RingLog = { windowSeconds: number; quota: number; saves: number[] };

/** How many stamps a page has: 512 bytes. */
export const PAGE_STAMPS = 64;

/** The times of the groups that came after the position `savedHead`, or went on after it; up to the newest one. */
export function changedTimes(ring: Ring, savedHead: number): number[] {
  const times: number[] = [];
  for (let group = firstChanged(ring, savedHead); group <= newestGroup(ring); group++) times.push(timeOf(ring, group));
  return times;
}

/** How many these are. */
export function countChanged(ring: Ring, savedHead: number): number {
  return Math.max(0, newestGroup(ring) - firstChanged(ring, savedHead) + 1);
}

function firstChanged(ring: Ring, savedHead: number): number {
  const first = Math.max(ring.tail, Math.floor(savedHead / ring.groupSize));
  return Math.max(first, newestGroup(ring) - ringLength(ring.quota) + 1);
}

/** The pages that hold what came after the position `savedHead`. */
export function changedPages(ring: Ring, savedHead: number): RingPage[] {
  const length = ringLength(ring.quota);
  const pages = new Set<number>();
  for (let group = firstChanged(ring, savedHead); group <= newestGroup(ring); group++) {
    pages.add(Math.floor((group % length) / PAGE_STAMPS));
  }
  return [...pages].map((page) => ({
    windowSeconds: ring.windowMs / 1000,
    page,
    quota: ring.quota,
    head: ring.head,
    stamps: new Uint8Array(stampsOfPage(ring, page).buffer),
  }));
}

function stampsOfPage(ring: Ring, page: number): Float64Array {
  const length = ringLength(ring.quota);
  const newest = newestGroup(ring);
  const stamps = new Float64Array(pageLength(length, page));
  for (let index = 0; index < stamps.length; index++) {
    // The newest group that has this place; where it has left the window (or never was), 0 is as old as it gets.
    const place = page * PAGE_STAMPS + index;
    const group = newest - ((((newest - place) % length) + length) % length);
    if (group >= ring.tail) stamps[index] = timeOf(ring, group);
  }
  return stamps;
}

function pageLength(length: number, page: number): number {
  return Math.max(0, Math.min(PAGE_STAMPS, length - page * PAGE_STAMPS));
}

/** The number of the first row of the log that has what the pages don't have; Infinity where they have everything. */
export function firstUnfolded(pages: readonly RingPage[], { saves }: RingLog): number {
  const folded = Math.max(0, ...pages.map(({ head }) => head));
  for (let at = 0; at < saves.length; at += 3 + (saves[at + 2] as number)) {
    if ((saves[at + 1] as number) > folded) return saves[at] as number;
  }
  return Number.POSITIVE_INFINITY;
}

/** Whether a page can have been written: one that is damaged says nothing. */
export function isPage({ windowSeconds, page, quota, head }: RingPage): boolean {
  const { maxWindowSeconds, maxQuota } = RATE_LIMIT_BOUNDS;
  return (
    isWithin(windowSeconds, 1, maxWindowSeconds) &&
    isWithin(quota, 1, maxQuota) &&
    isWithin(page, 0, MAX_GROUPS / PAGE_STAMPS - 1) &&
    isWithin(head, 0, Number.MAX_SAFE_INTEGER)
  );
}

function isWithin(number: number, least: number, most: number): boolean {
  return Number.isInteger(number) && number >= least && number <= most;
}

// Kept, since a start may restore tens of thousands of rings.
const scratch = { times: new Float64Array(MAX_GROUPS), heads: new Float64Array(MAX_GROUPS) };

/** The ring that its pages and its log amount to at `now`; it goes on where it was, even if its window is empty. */
export function restoreRing(pages: readonly RingPage[], log: RingLog | undefined, now: number): Ring {
  const ring = createRing((log ?? pages[0]) as RateLimit);
  const length = ringLength(ring.quota);
  const times = scratch.times.fill(0);
  // With which head each place was written: who comes later knows better.
  const heads = scratch.heads.fill(0);
  const put = (place: number, time: number, head: number) => {
    ring.head = Math.max(ring.head, head);
    if (head < (heads[place] as number)) return;
    heads[place] = head;
    times[place] = time;
  };
  for (const { page, head, stamps } of pages) {
    if (stamps.byteLength !== pageLength(length, page) * 8) continue;
    for (const [index, time] of new Float64Array(stamps.slice().buffer).entries()) {
      put(page * PAGE_STAMPS + index, time, head);
    }
  }
  const saves = log?.saves ?? [];
  for (let at = 0; at < saves.length; ) {
    const [head = 0, count = 0] = [saves[at + 1], saves[at + 2]];
    ring.head = Math.max(ring.head, head);
    const first = Math.floor((head - 1) / ring.groupSize) - count + 1;
    for (let index = 0; index < count; index++) put((first + index) % length, saves[at + 3 + index] as number, head);
    at += 3 + count;
  }
  const newest = newestGroup(ring);
  const isOver = (group: number) => now - (times[group % length] as number) > ring.windowMs + ring.stepMs;
  // From the newest back: what was over when its page was written stands there as 0, beside others that were not yet.
  ring.tail = newest + 1;
  while (ring.tail > Math.max(0, newest - length + 1) && !isOver(ring.tail - 1)) ring.tail--;
  fitRing(ring, newest - ring.tail + 1);
  for (let group = ring.tail; group <= newest; group++) {
    ring.newestStep = Math.floor((times[group % length] as number) / ring.stepMs);
    ring.stamps[group % ring.stamps.length] = ring.newestStep;
  }
  remainingAt(ring, now);
  ring.savedHead = ring.head;
  return ring;
}
