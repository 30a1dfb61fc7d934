import type { Bench } from './bench.ts';
import { besideImport } from './cases/beside.ts';
import { help, keysList, starting } from './cases/commands.ts';
import { feed } from './cases/feed.ts';
import { flood, floodBeside } from './cases/flood.ts';
import { latency } from './cases/latency.ts';
import { batches, hot, keys, leaderboard, linkLists, notFound, notModified, sizes, uniform } from './cases/lookups.ts';
import { memory } from './cases/memory.ts';
import { platform } from './cases/platform.ts';
import { platformBeside } from './cases/platform-beside.ts';
import { whileSaving } from './cases/saves.ts';
import { exporting, importing } from './cases/transfer.ts';
import { workers } from './cases/workers.ts';
import type { Result } from './results.ts';

/** All cases, in the order of the table. */
export const CASES: readonly { name: string; isLong?: true; run: (bench: Bench) => Promise<Result[]> }[] = [
  { name: 'hot', run: hot },
  { name: 'uniform', run: uniform },
  { name: 'sizes', run: sizes },
  { name: 'links', run: linkLists },
  { name: 'leaderboard', run: leaderboard },
  { name: 'not-modified', run: notModified },
  { name: 'batch', run: batches },
  { name: 'not-found', run: notFound },
  { name: 'flood', run: flood },
  { name: 'flood-beside', run: floodBeside },
  { name: 'latency', run: latency },
  { name: 'saves', run: whileSaving },
  { name: 'keys', run: keys },
  { name: 'import-beside', run: besideImport },
  { name: 'feed', run: feed },
  { name: 'memory', isLong: true, run: memory },
  { name: 'platform', run: platform },
  { name: 'platform-beside', isLong: true, run: platformBeside },
  { name: 'start', run: starting },
  { name: 'help', run: help },
  { name: 'keys-list', run: keysList },
  { name: 'import', run: importing },
  { name: 'export', run: exporting },
  { name: 'workers', run: workers },
];
