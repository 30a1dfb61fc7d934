import { and, between, eq, sql } from 'drizzle-orm';
import { type Clock, DAY_MS, isoTime } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { keyUsage as usage } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import type { ErrorCode } from '../errors.ts';
import { readKey } from '../keys/record.ts';

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

/** Prepares the statements that add what was counted to the stored counts, for use in a transaction. */
export function prepareUsageRows(sqlite: Sqlite): (tallies: readonly Tally[]) => void {
  const added = `ok = ok + excluded.ok, not_found = not_found + excluded.not_found,
    forbidden = forbidden + excluded.forbidden, malformed = malformed + excluded.malformed,
    limited = limited + excluded.limited, failed = failed + excluded.failed`;
  const addToKey = sqlite.prepare<undefined, [Tally]>(
    `INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at)
       VALUES ($identifier, $day, $ok, $notFound, $forbidden, $malformed, $limited, $failed, $lastUsedAt)
     ON CONFLICT (identifier, day) DO UPDATE SET ${added}, last_used_at = max(last_used_at, excluded.last_used_at)`,
  );
  const addToDay = sqlite.prepare<undefined, [Tally]>(
    `INSERT INTO usage_days (day, ok, not_found, forbidden, malformed, limited, failed)
       VALUES ($day, $ok, $notFound, $forbidden, $malformed, $limited, $failed)
     ON CONFLICT (day) DO UPDATE SET ${added}`,
  );
  return (tallies) => {
    for (const tally of tallies) {
      addToKey.run(tally);
      addToDay.run(tally);
    }
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
  const lastDay = dayOf(nowMs) - USAGE_DAYS;
  sqlite.query('DELETE FROM usage_days WHERE day <= ?').run(lastDay);
  const { changes } = drop.run(lastDay, MAX_ROWS_PER_STEP);
  return changes === MAX_ROWS_PER_STEP;
}

/** The outcomes by which requests with a valid key are counted. */
export const USAGE_OUTCOMES = ['ok', 'notFound', 'forbidden', 'malformed', 'limited', 'failed'] as const;

export type UsageOutcome = (typeof USAGE_OUTCOMES)[number];

/** Makes a record with a value for each outcome. */
export function eachOutcome<T>(make: (outcome: UsageOutcome) => T): Record<UsageOutcome, T> {
  return Object.fromEntries(USAGE_OUTCOMES.map((one) => [one, make(one)])) as Record<UsageOutcome, T>;
}

/** Numbers of requests by outcome. */
export type Outcomes = Readonly<Record<UsageOutcome, number>>;

/** The number of all requests. */
export function countRequests(counts: Outcomes): number {
  return USAGE_OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);
}

/** The number of requests that were answered, also if the profile does not exist. All others were refused or failed. */
export function countAnswered({ ok, notFound }: Outcomes): number {
  return ok + notFound;
}

/** For how many days usage is kept, including today. */
export const USAGE_DAYS = 400;

/** The default number of days of usage to show. */
export const USUAL_DAYS = 30;

/**
 * A key's requests by day and outcome, as `--json` prints them: today last, days without requests included. `lastUsedAt` is null
 * if the key was not used in the last 400 days.
 */
export type UsageView = {
  identifier: string;
  days: ({ day: string } & Outcomes)[];
  lastUsedAt: string | null;
};

/** The usage of a key in the last 1 to 400 days (UTC). The last seconds may be missing. Throws `not_found`. */
export function keyUsage(reader: Pick<Deps, 'db' | 'clock'>, identifier: string, days: number): UsageView {
  readKey(reader.db, identifier);
  const today = dayOf(reader.clock.nowMs());
  const first = today - days + 1;
  const rows = reader.db
    .select()
    .from(usage)
    .where(and(eq(usage.identifier, identifier), between(usage.day, first, today)))
    .all();
  const lastUsedAt = lastUses(reader, [identifier]).get(identifier);
  return {
    identifier,
    days: Array.from({ length: days }, (_, index) => {
      const row = rows.find(({ day }) => day === first + index);
      const date = isoTime((first + index) * DAY_MS).slice(0, 10);
      return { day: date, ...eachOutcome((outcome) => row?.[outcome] ?? 0) };
    }),
    lastUsedAt: lastUsedAt === undefined ? null : isoTime(lastUsedAt),
  };
}

/** When each key was last used, in milliseconds since 1970; keys that were not used in the last 400 days are absent. */
export function lastUses(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  identifiers: readonly string[],
): Map<string, number> {
  // Later days than today were counted while the clock was ahead.
  const today = dayOf(clock.nowMs());
  const rows = db
    .select({ identifier: usage.identifier, at: sql`max(${usage.lastUsedAt})`.mapWith(usage.lastUsedAt) })
    .from(usage)
    .where(
      and(
        sql`${usage.identifier} IN (SELECT value FROM json_each(${JSON.stringify(identifiers)}))`,
        between(usage.day, today - USAGE_DAYS + 1, today),
      ),
    )
    .groupBy(usage.identifier)
    .all();
  return new Map(rows.map(({ identifier, at }) => [identifier, at]));
}
