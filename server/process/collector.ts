import { edenGC } from 'bun:jsc';

/** What so many requests leave behind takes less than a millisecond to collect. */
const REQUESTS = 2_048;

/** So many bytes of large texts are left to be freed at most. */
const LARGE_BYTES = 8 * 1024 * 1024;

/**
 * Makes a function that is told how many bytes of large texts were read that nobody needs any more. Young garbage of them
 * is marked, but not freed, so all is collected and swept: 2 ms with an empty cache, and as long as reading a few of them.
 */
export function createSweeper(): (bytes: number) => void {
  let left = 0;
  return (bytes) => {
    left += bytes;
    if (left < LARGE_BYTES) return;
    left = 0;
    Bun.gc(true);
  };
}

/**
 * Makes a function that is called for each request and now and then has young garbage collected. JavaScriptCore by itself
 * lets as much of it gather as there is in use: with thousands of keys and full caches it took 50 MB more, and no less time.
 */
export function createCollector(): () => void {
  let requests = 0;
  return () => {
    if (++requests % REQUESTS === 0) edenGC();
  };
}
