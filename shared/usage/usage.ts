import { type Clock, DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import type { ErrorCode } from '../errors.ts';
import { eachOutcome, USAGE_DAYS, type UsageOutcome } from './outcomes.ts';

/** The requests of one key on one day (days since 1970, UTC) that are not stored yet. */
type Tally = Record<UsageOutcome, number> & { identifier: string; day: number; lastUsedAt: number };

/** Counts requests by key, day and outcome until the counts are stored. */
export type Usage = {
  readonly clock: Clock;
  /** The tally of each key's last request, by identifier. */
  readonly latest: Map<string, Tally>;
  readonly unsaved: Tally[];
};

/** How refusals are counted. One that is not listed is the server's fault and counts as `failed`. */
const OUTCOMES: Partial<Record<ErrorCode, UsageOutcome>> = {
  not_found: 'notFound',
  unknown_path: 'notFound',
  insufficient_scope: 'forbidden',
  bad_parameter: 'malformed',
  bad_request: 'malformed',
  method_not_allowed: 'malformed',
  uri_too_long: 'malformed',
  rate_limited: 'limited',
};

/** The UTC day of a time (milliseconds since 1970), in days since 1970. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** Creates counts of which nothing is to be stored. */
export function createUsage(clock: Clock): Usage {
  return { clock, latest: new Map(), unsaved: [] };
}

/** Counts a request of a key; `code` is the code of the refusal, or null for a request that succeeded. */
export function countUsage({ clock, latest, unsaved }: Usage, identifier: string, code: ErrorCode | null): void {
  const nowMs = clock.nowMs();
  const day = dayOf(nowMs);
  let tally = latest.get(identifier);
  if (tally?.day !== day) {
    tally = { identifier, day, ...eachOutcome(() => 0), lastUsedAt: 0 };
    latest.set(identifier, tally);
    unsaved.push(tally);
  }
  tally[code === null ? 'ok' : (OUTCOMES[code] ?? 'failed')]++;
  tally.lastUsedAt = nowMs;
}

/** Prepares the statement that adds what was counted to the stored counts, for use in a transaction. */
export function prepareUsageRows(sqlite: Sqlite): (tallies: readonly Tally[]) => void {
  const add = sqlite.prepare<undefined, [Tally]>(
    `INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at)
       VALUES ($identifier, $day, $ok, $notFound, $forbidden, $malformed, $limited, $failed, $lastUsedAt)
     ON CONFLICT (identifier, day) DO UPDATE SET ok = ok + excluded.ok, not_found = not_found + excluded.not_found,
       forbidden = forbidden + excluded.forbidden, malformed = malformed + excluded.malformed,
       limited = limited + excluded.limited, failed = failed + excluded.failed,
       last_used_at = max(last_used_at, excluded.last_used_at)`,
  );
  return (tallies) => {
    for (const tally of tallies) add.run(tally);
  };
}

/** Call when all counts were committed, before anything else is counted. */
export function noteUsageSaved({ latest, unsaved }: Usage): void {
  latest.clear();
  unsaved.length = 0;
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
