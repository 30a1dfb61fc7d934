import { edenGC } from 'bun:jsc';

/**
 * How many requests pass between collections of young garbage. A collection takes about a millisecond, whatever the garbage:
 * after every 2 048 requests it was 3 % of the processor time of a lookup.
 */
const REQUESTS = 8_192;

/** How many bytes of large texts may wait to be freed. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** Decides when to collect garbage, in addition to JavaScriptCore's own collections. */
export type Collector = {
  /** How many requests were answered. */
  requests: number;
  /** How many bytes of large texts were read since the last full collection. */
  largeBytes: number;
};

/** A collector that has counted nothing yet. */
export function createCollector(): Collector {
  return { requests: 0, largeBytes: 0 };
}

/**
 * Called after each request; collects young garbage after every {@link REQUESTS} of them. By itself JavaScriptCore lets
 * garbage grow to as much as the memory in use: with thousands of keys and full caches the process was 50 MB larger without
 * this, and not faster.
 */
export function collectAfterRequest(collector: Collector): void {
  if (++collector.requests % REQUESTS === 0) edenGC();
}

/**
 * Called with the number of bytes of large texts that were read and are not needed any more; collects all garbage after
 * {@link LARGE_BYTES}. Collecting only young garbage would mark large texts but not free their memory. A full collection
 * takes 2 ms with an empty cache, as long as reading a few large texts.
 */
export function collectAfterLargeText(collector: Collector, bytes: number): void {
  collector.largeBytes += bytes;
  if (collector.largeBytes < LARGE_BYTES) return;
  collector.largeBytes = 0;
  Bun.gc(true);
}

/** How long after its start a thread collects what starting has left: the first requests are answered by then. */
const STARTED_MS = 500;

/**
 * Gives back once what loading and starting a thread has left, some 2 MiB. Called at the start of a server and of its portal's
 * thread; collecting takes the thread some 10 ms.
 */
export function collectAfterStart(): void {
  setTimeout(() => {
    Bun.gc(true);
    Bun.shrink();
  }, STARTED_MS).unref();
}
