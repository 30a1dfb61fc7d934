import { and, between, sql } from 'drizzle-orm';
import { DAY_MS, isoTime } from '../clock.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { keyUsage as usage } from '../db/schema/keys.ts';
import type { Deps } from '../deps.ts';
import { readKey } from '../keys/record.ts';
import { eachOutcome, type Outcomes, USAGE_DAYS } from './outcomes.ts';
import { dayOf } from './usage.ts';

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
  const lastUsedAt = lastUses(reader, [identifier]).get(identifier);
  return {
    identifier,
    days: dailyUsage(reader, [identifier], days).get(identifier) as UsageView['days'],
    lastUsedAt: lastUsedAt === undefined ? null : isoTime(lastUsedAt),
  };
}

/** The `days` of {@link keyUsage} for several keys, by identifier. Unknown keys have days without requests. */
export function dailyUsage(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  identifiers: readonly string[],
  days: number,
): Map<string, UsageView['days']> {
  const today = dayOf(clock.nowMs());
  const first = today - days + 1;
  const rows = rowsOf(db).all({ identifiers: JSON.stringify(identifiers), first, today });
  const found = new Map(rows.map((row) => [`${row.identifier} ${row.day}`, row]));
  const usageOn = (identifier: string, day: number) => {
    const row = found.get(`${identifier} ${day}`);
    return { day: isoTime(day * DAY_MS).slice(0, 10), ...eachOutcome((outcome) => row?.[outcome] ?? 0) };
  };
  return new Map(
    identifiers.map((key) => [key, Array.from({ length: days }, (_, index) => usageOn(key, first + index))]),
  );
}

const ofTheseKeys = and(
  sql`${usage.identifier} IN (SELECT value FROM json_each(${sql.placeholder('identifiers')}))`,
  between(usage.day, sql.placeholder('first'), sql.placeholder('today')),
);

// Both queries are prepared once, because an owner's list of keys needs both.
const rowsOf = keepQuery((db) => db.select().from(usage).where(ofTheseKeys).prepare());

/** When each key was last used, in milliseconds since 1970; keys that were not used in the last 400 days are absent. */
export function lastUses(reader: Pick<Deps, 'db' | 'clock'>, identifiers: readonly string[]): Map<string, number> {
  const [first, today] = keptDays(reader.clock.nowMs());
  const rows = lastUsesOf(reader.db).all({ identifiers: JSON.stringify(identifiers), first, today });
  return new Map(rows.map(({ identifier, at }) => [identifier, at]));
}

const lastUsesOf = keepQuery((db) =>
  db
    .select({ identifier: usage.identifier, at: sql`max(${usage.lastUsedAt})`.mapWith(usage.lastUsedAt) })
    .from(usage)
    .where(ofTheseKeys)
    .groupBy(usage.identifier)
    .prepare(),
);

// Later days than today were counted while the clock was ahead.
function keptDays(nowMs: number): [first: number, today: number] {
  const today = dayOf(nowMs);
  return [today - USAGE_DAYS + 1, today];
}
