import { type Clock, within } from '../../../shared/clock.ts';
import type { Serving } from '../../http/serving.ts';
import { originalOf } from '../../http/transport.ts';
import { IDLE_SECONDS } from '../listener.ts';

/** How fast a body has to arrive: at least `bytes` in every `spanMs`. */
export type ArrivalPace = { bytes: number; spanMs: number };

/** The pace for a backend's profiles: 1 KiB/s over any 20 s. */
export const FEED_PACE: ArrivalPace = { bytes: 20 * 1024, spanMs: 20_000 };

/** Records bytes that arrived at `atMs`, and returns when the body becomes too slow unless more arrive. */
export type ArrivalMeter = (atMs: number, bytes: number) => number;

/**
 * Measures a body whose first byte is awaited from time 0. It becomes too slow at the end of the first span in which fewer
 * than `pace.bytes` arrived; spans that began before time 0 count as fast enough. Bytes that arrived exactly one span ago
 * don't count.
 */
export function createArrivalMeter({ bytes: min, spanMs }: ArrivalPace): ArrivalMeter {
  // The fewest newest arrivals with at least `min` bytes; all arrivals while there are fewer bytes.
  const arrivals: { atMs: number; bytes: number }[] = [{ atMs: 0, bytes: min }];
  let sum = min;
  return (atMs, bytes) => {
    arrivals.push({ atMs, bytes });
    sum += bytes;
    for (let [oldest] = arrivals; oldest !== undefined && sum - oldest.bytes >= min; [oldest] = arrivals) {
      sum -= oldest.bytes;
      arrivals.shift();
    }
    return (arrivals[0]?.atMs ?? atMs) + spanMs;
  };
}

/** Why a body ended early: it arrived too slowly, or the connection was lost. */
export type CutOff = 'too late' | 'lost';

/**
 * Yields a body's chunks while they arrive at this pace. Throws the error of `onCutOff` if they don't, or if the connection is
 * lost. Only the time spent waiting for chunks counts: while a chunk is processed, the client can't send.
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
    const next = await within(chunks.next(), endsAtMs - waitedMs).catch((): CutOff => 'lost');
    if (next === 'too late' || next === 'lost') throw onCutOff(next);
    if (next.done) return;
    waitedMs += clock.monotonicMs() - beganAtMs;
    endsAtMs = meter(waitedMs, next.value.length);
    yield next.value;
  }
}

/** The longest idle timeout that Bun accepts, in seconds. */
const LONG_SECONDS = 255;

/**
 * Raises the idle timeout of a request's connection while its profiles are imported; returns a function that restores it. Only
 * for authorised clients: others could keep idle connections open.
 */
export function keepConnection({ connections }: Pick<Serving, 'connections'>, request: Request): () => void {
  const mayIdle = (seconds: number) => connections.server?.timeout(originalOf(request), seconds);
  mayIdle(LONG_SECONDS);
  return () => mayIdle(IDLE_SECONDS);
}
