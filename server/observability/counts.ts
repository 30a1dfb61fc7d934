import type { ErrorCode } from '../../shared/errors.ts';

/** Counts of responses. Plain maps are ten times as fast as a metrics library. */
export type Counts = { routes: Map<string, RouteCounts>; refusals: Map<ErrorCode, number> };

/** The responses of a route. `buckets` counts them by duration; its last element counts those above all of {@link BUCKETS}. */
export type RouteCounts = { byStatus: Map<number, number>; buckets: number[]; seconds: number };

/**
 * The upper bounds of the histogram's buckets, in seconds. Most responses take far less than a millisecond, a late page of the
 * leaderboard a few, and a response that waits for a locked database 300 ms.
 */
export const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/** The media type of Prometheus' text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Creates empty counts. */
export function createCounts(): Counts {
  return { routes: new Map(), refusals: new Map() };
}

/** Counts one response; `route` is null if no route matches. */
export function countAnswer(
  counts: Counts,
  route: string | null,
  status: number,
  code: ErrorCode | null,
  milliseconds: number,
): void {
  const seconds = milliseconds / 1000;
  const of = routeOf(counts, route ?? 'none');
  increase(of.byStatus, status, 1);
  let bucket = 0;
  while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++;
  of.buckets[bucket] = (of.buckets[bucket] as number) + 1;
  of.seconds += seconds;
  if (code !== null) increase(counts.refusals, code, 1);
}

function routeOf({ routes }: Counts, route: string): RouteCounts {
  let of = routes.get(route);
  if (of === undefined) {
    of = { byStatus: new Map(), buckets: Array<number>(BUCKETS.length + 1).fill(0), seconds: 0 };
    routes.set(route, of);
  }
  return of;
}

function increase<K>(map: Map<K, number>, key: K, by: number): void {
  map.set(key, (map.get(key) ?? 0) + by);
}
