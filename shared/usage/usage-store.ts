import { withBusyTimeout } from '../db/busy-timeout.ts';
import type { Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { openBeside } from '../db/open-beside.ts';
import { prepareWrite } from '../db/write.ts';
import { type Tally, USAGE_DAYS } from '../keys/usage-outcomes.ts';
import { dayOf } from './usage-counter.ts';

/** Writes counts of requests to the database, on its own connection. */
export type UsageStore = {
  /** Adds tallies to the stored counts in one transaction. Waits up to `waitMs` for a lock, then throws `busy`. */
  add: (tallies: readonly Tally[], waitMs: number) => void;
  close: () => void;
};

/** Opens the store in an existing, current database. Throws `refused` if the file can't be used. */
export function openUsageStore(path: string): UsageStore {
  // A power cut may lose the latest minute of counts.
  const sqlite = openBeside(path, 0, { isDurable: false });
  const addTally = sqlite.prepare<undefined, [Tally]>(
    `INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at)
       VALUES ($identifier, $day, $ok, $notFound, $forbidden, $malformed, $limited, $failed, $lastUsedAt)
     ON CONFLICT (identifier, day) DO UPDATE SET ok = ok + excluded.ok, not_found = not_found + excluded.not_found,
       forbidden = forbidden + excluded.forbidden, malformed = malformed + excluded.malformed,
       limited = limited + excluded.limited, failed = failed + excluded.failed,
       last_used_at = max(last_used_at, excluded.last_used_at)`,
  );
  const addAll = prepareWrite(sqlite, (tallies: readonly Tally[]) => {
    for (const tally of tallies) addTally.run(tally);
  });
  return {
    add: (tallies, waitMs) => guardDatabase(path, () => withBusyTimeout(sqlite, waitMs, () => addAll(tallies))),
    close: () => sqlite.close(),
  };
}

/** How many rows one transaction deletes at most, because it blocks requests that write. */
const MAX_ROWS_PER_STEP = 500;

/** Deletes some counts that are older than {@link USAGE_DAYS}. Returns whether more may be left. */
export function dropOldUsage(sqlite: Sqlite, nowMs: number): boolean {
  const drop = sqlite.query(
    'DELETE FROM key_usage WHERE (identifier, day) IN (SELECT identifier, day FROM key_usage WHERE day <= ? LIMIT ?)',
  );
  const { changes } = drop.run(dayOf(nowMs) - USAGE_DAYS, MAX_ROWS_PER_STEP);
  return changes === MAX_ROWS_PER_STEP;
}
