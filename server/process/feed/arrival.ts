import type { Clock } from '../../../shared/clock.ts';
import type { Serving } from '../../http/serving.ts';
import { originalOf } from '../../http/target.ts';
import { IDLE_SECONDS } from '../listener.ts';

/** How fast a body has to arrive: at least this many bytes in every span of this length, in milliseconds. */
export type ArrivalPace = { bytes: number; spanMs: number };

/** The pace of profiles that a backend sends: 1 KiB/s over any 20 s. */
export const FEED_PACE: ArrivalPace = { bytes: 20 * 1024, spanMs: 20_000 };

/** Adds bytes that have arrived at a time, in milliseconds, and returns when the body becomes too slow if no more arrive. */
export type ArrivalMeter = (atMs: number, bytes: number) => number;

/**
 * Measures a body of which one begins to wait at time 0. It becomes too slow at the end of the first span in which fewer
 * bytes than `pace.bytes` have arrived; a span that began before time 0 counts as fast enough. Bytes that arrive exactly one
 * span ago don't count.
 */
export function createArrivalMeter({ bytes: least, spanMs }: ArrivalPace): ArrivalMeter {
  // The newest arrivals, which together have just enough bytes, or all of them where they have fewer.
  const arrivals: { atMs: number; bytes: number }[] = [{ atMs: 0, bytes: least }];
  let sum = least;
  return (atMs, bytes) => {
    arrivals.push({ atMs, bytes });
    sum += bytes;
    for (let [oldest] = arrivals; oldest !== undefined && sum - oldest.bytes >= least; [oldest] = arrivals) {
      sum -= oldest.bytes;
      arrivals.shift();
    }
    return (arrivals[0]?.atMs ?? atMs) + spanMs;
  };
}

/** How a body ends before it is whole: it arrives too slowly, or its connection ends. */
export type CutOff = 'too slow' | 'lost';

/**
 * Passes a body on while it arrives at this pace. Throws what `onCutOff` returns where it does not, or where its connection
 * ends. Only the time during which a chunk is waited for counts: while earlier chunks are worked on, nobody can send.
 */
export async function* keepPace(
  body: AsyncIterable<Uint8Array>,
  pace: ArrivalPace,
  clock: Pick<Clock, 'monotonicMs'>,
  onCutOff: (how: CutOff) => Error,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const meter = createArrivalMeter(pace);
  let waitedMs = 0;
  let endsAtMs = pace.spanMs;
  for (;;) {
    const beganAtMs = clock.monotonicMs();
    const next = await nextWithin(chunks, endsAtMs - waitedMs);
    if (typeof next === 'string') throw onCutOff(next);
    if (next.done) return;
    waitedMs += clock.monotonicMs() - beganAtMs;
    endsAtMs = meter(waitedMs, next.value.length);
    yield next.value;
  }
}

/** The next chunk, or how the body was cut off where there is none within this time. */
async function nextWithin(
  chunks: AsyncIterator<Uint8Array>,
  milliseconds: number,
): Promise<IteratorResult<Uint8Array> | CutOff> {
  const { promise: late, resolve } = Promise.withResolvers<CutOff>();
  const timer = setTimeout(resolve, milliseconds, 'too slow');
  try {
    return await Promise.race([chunks.next(), late]);
  } catch {
    return 'lost';
  } finally {
    clearTimeout(timer);
  }
}

/** The longest idle time that Bun has, in seconds. */
const LONG_SECONDS = 255;

/**
 * Keeps the connection of a request while its profiles are put in, which takes longer than others may idle; returns what ends
 * that. Only for those who may send profiles: anybody else would hold connections for nothing.
 */
export function keepConnection({ application }: Pick<Serving, 'application'>, request: Request): () => void {
  const mayIdle = (seconds: number) => application.server?.timeout(originalOf(request), seconds);
  mayIdle(LONG_SECONDS);
  return () => mayIdle(IDLE_SECONDS);
}
