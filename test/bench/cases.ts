import type { Bench } from './bench.ts';
import { flood, floodBeside } from './flood.ts';
import { batches, hot, keys, leaderboard, linkLists, notFound, notModified, sizes, uniform } from './lookups.ts';
import type { Result } from './results.ts';

/** Everything that is measured, in the order of the table. */
export const CASES: readonly { name: string; isLong?: true; run: (bench: Bench) => Promise<Result[]> }[] = [
  { name: 'hot', run: hot },
  { name: 'uniform', run: uniform },
  { name: 'sizes', run: sizes },
  { name: 'links', run: linkLists },
  { name: 'leaderboard', run: leaderboard },
  { name: 'not-modified', run: notModified },
  { name: 'not-found', run: notFound },
  { name: 'batch', run: batches },
  { name: 'keys', run: keys },
  { name: 'flood', run: flood },
  { name: 'flood-beside', run: floodBeside },
];
