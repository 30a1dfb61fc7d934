import { openLimits } from '../../../shared/limits/one-thread.ts';
import { left } from '../../support/storage/limits.ts';

// Run by restart.test.ts: opens the limits of a database, and prints what is left of each key's limits.

const now = Number(process.env.NOW);
const limits = openLimits(process.argv[2] ?? '', { nowMs: () => now, monotonicMs: () => 0 }, () => {});
const keys: Parameters<typeof left>[1][] = JSON.parse(process.env.KEYS ?? '');
const all = keys.map((key) => left(limits, key));
process.stdout.write(JSON.stringify(all));
process.exit(0);
