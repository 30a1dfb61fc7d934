import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../shared/clock.ts';
import { openFile } from '../../../shared/db/connect.ts';
import { quotaPath } from '../../../shared/limits/file/store.ts';
import { openLimits } from '../../../shared/limits/one-thread.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import { tempFolder } from '../world.ts';
import { left } from './limits.ts';

const folder = tempFolder();
let crashes = 0;

/** The path of a main database with a copy of the quota file beside it, as a crash would leave it now. */
export function afterCrash(databasePath: string): string {
  const path = join(folder, `${++crashes}.db`);
  for (const suffix of ['', '-wal']) {
    const from = quotaPath(databasePath) + suffix;
    if (existsSync(from)) cpSync(from, quotaPath(path) + suffix);
  }
  return path;
}

/** The length of a quota file's log in bytes, and its number of rows. */
export function logSize(databasePath: string): { rows: number; bytes: number } {
  const sqlite = openFile(quotaPath(databasePath), 1_000);
  const size = sqlite.query<{ rows: number; bytes: number }, []>(
    'SELECT count(*) AS rows, total(length(identifiers) + length(numbers) + length(stamps)) AS bytes FROM log',
  );
  const found = size.get() ?? { rows: 0, bytes: 0 };
  sqlite.close();
  return found;
}

/** The remaining quota of a key's only rate limit, as a starting server with this clock reads it from the quota file. */
export function remainingInFile(
  databasePath: string,
  identifier: string,
  limit: RateLimit,
  clock: Clock = systemClock,
): number | undefined {
  const limits = openLimits(afterCrash(databasePath), clock, () => undefined);
  const [remaining] = left(limits, { identifier, rateLimits: [limit] });
  limits.close();
  return remaining;
}
