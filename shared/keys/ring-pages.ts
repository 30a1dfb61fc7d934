import { createRing, fitRing, newestGroup, type Ring, remainingAt, ringLength, timeOf } from './ring.ts';

// How a ring lies in a file: its full length of time stamps in milliseconds, cut into pages, so that one more request writes one page.

/** A page of a ring: some of its stamps (Float64 in this machine's byte order), and the head when it was written. */
export type RingPage = { windowSeconds: number; page: number; quota: number; head: number; stamps: Uint8Array };

/** How many stamps a page has: 512 bytes. */
export const PAGE_STAMPS = 64;

/** The pages that hold what came after the position `savedHead`: what has to be written since then. */
export function changedPages(ring: Ring, savedHead: number): RingPage[] {
  const length = ringLength(ring.quota);
  const newest = newestGroup(ring);
  const first = Math.max(ring.tail, Math.floor(savedHead / ring.groupSize), newest - length + 1);
  const pages = new Set<number>();
  for (let group = first; group <= newest; group++) pages.add(Math.floor((group % length) / PAGE_STAMPS));
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

/** The ring that pages of one key and window amount to at `now`; it goes on where it was, even if its window is empty. */
export function restoreRing(pages: readonly RingPage[], now: number): Ring {
  const latest = pages.reduce((one, page) => (page.head > one.head ? page : one), pages[0] as RingPage);
  const ring = createRing(latest);
  const length = ringLength(ring.quota);
  const times = new Float64Array(length);
  for (const { page, stamps } of pages) {
    if (stamps.byteLength !== pageLength(length, page) * 8) continue;
    times.set(new Float64Array(stamps.slice().buffer), page * PAGE_STAMPS);
  }
  ring.head = latest.head;
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
  return ring;
}
