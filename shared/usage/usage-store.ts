import type { Clock } from '../clock.ts';
import { withBusyTimeout } from '../db/busy-timeout.ts';
import { guardDatabase } from '../db/faults.ts';
import { openBeside } from '../db/open-beside.ts';
import { prepareWrite } from '../db/write.ts';
import { type Tally, USAGE_DAYS } from '../keys/usage-outcomes.ts';
import { dayOf } from './usage-counter.ts';

/** Writes counts of requests to the database, on its own connection. */
export type UsageStore = {
  /**
   * In one transaction, adds tallies to the stored counts and deletes some rows that are too old (none until the clock has
   * settled). Waits up to `waitMs` for another process's lock, then throws `busy`.
   */
  add: (tallies: readonly Tally[], clock: Pick<Clock, 'settledMs'>, waitMs: number) => void;
  close: () => void;
};

const MAX_PRUNED = 500;

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
  const prune = sqlite.prepare<undefined, [number, number]>(
    `DELETE FROM key_usage WHERE (identifier, day) IN
       (SELECT identifier, day FROM key_usage WHERE day <= ? LIMIT ?)`,
  );
  const addAll = prepareWrite(sqlite, (tallies: readonly Tally[], clock: Pick<Clock, 'settledMs'>) => {
    for (const tally of tallies) addTally.run(tally);
    const settledMs = clock.settledMs();
    if (settledMs !== null) prune.run(dayOf(settledMs) - USAGE_DAYS, MAX_PRUNED);
  });
  return {
    add: (tallies, clock, waitMs) =>
      guardDatabase(path, () => withBusyTimeout(sqlite, waitMs, () => addAll(tallies, clock))),
    close: () => sqlite.close(),
  };
}
