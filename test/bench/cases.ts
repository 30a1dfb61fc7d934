import type { Bench } from './bench.ts';
import { besideImport } from './beside.ts';
import { help, keysList, starting } from './commands.ts';
import { feed } from './feed.ts';
import { flood, floodBeside } from './flood.ts';
import { latency } from './latency.ts';
import {
  batches,
  ceiling,
  hot,
  keys,
  leaderboard,
  linkLists,
  notFound,
  notModified,
  sizes,
  uniform,
} from './lookups.ts';
import { memory } from './memory.ts';
import { platform } from './platform.ts';
import { platformBeside } from './platform-beside.ts';
import type { Result } from './results.ts';
import { besideSaves } from './saves.ts';
import { exporting, importing } from './transfer.ts';
import { workers } from './workers.ts';

/** Everything that is measured, in the order of the table. */
export const CASES: readonly { name: string; isLong?: true; run: (bench: Bench) => Promise<Result[]> }[] = [
  { name: 'hot', run: hot },
  { name: 'ceiling', run: ceiling },
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
  { name: 'saves', run: besideSaves },
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
