import { and, between, eq, inArray, max, sql } from 'drizzle-orm';
import type { ActorKind } from '../actor.ts';
import { DAY_MS, isoTime } from '../clock.ts';
import { apiKeys, keyUsage as usage } from '../db/schema/keys.ts';
import type { Deps } from '../deps.ts';
import type { KeyFilter, ListPage } from '../keys/list-page.ts';
import { readKey } from '../keys/record.ts';
import { eachOutcome, type Outcomes, USAGE_DAYS } from '../keys/usage-outcomes.ts';
import { type KeyView, listKeys } from '../keys/view.ts';
import { dayOf } from './usage-counter.ts';

/**
 * A key's requests by day and outcome, as `--json` prints them: the oldest day first, today last, days without requests
 * included. `lastUsedAt` is null if the key was not used in the last 400 days.
 */
export type UsageView = {
  identifier: string;
  days: ({ day: string } & Outcomes)[];
  lastUsedAt: string | null;
};

/**
 * The usage of a key in the last `days` days (1 to 400) in UTC. Requests of the last ten seconds may be missing. Throws
 * `not_found`.
 */
export function keyUsage(reader: Pick<Deps, 'db' | 'clock'>, identifier: string, days: number): UsageView {
  readKey(reader.db, identifier);
  const today = dayOf(reader.clock.nowMs());
  const first = today - days + 1;
  const rows = reader.db
    .select()
    .from(usage)
    .where(and(eq(usage.identifier, identifier), between(usage.day, first, today)))
    .all();
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const lastUsedAt = lastUses(reader, [identifier]).get(identifier);
  return {
    identifier,
    days: Array.from({ length: days }, (_, index) => {
      const day = first + index;
      const counts = eachOutcome((outcome) => byDay.get(day)?.[outcome] ?? 0);
      return { day: isoTime(day * DAY_MS).slice(0, 10), ...counts };
    }),
    lastUsedAt: lastUsedAt === undefined ? null : isoTime(lastUsedAt),
  };
}

/**
 * When each key was last used, in milliseconds since 1970; a key that was not used in the last 400 days is absent. With
 * `identifiers`, only the rows of these keys are read.
 */
export function lastUses(reader: Pick<Deps, 'db' | 'clock'>, identifiers?: readonly string[]): Map<string, number> {
  const [first, today] = keptDays(reader.clock.nowMs());
  const isAsked = identifiers === undefined ? undefined : inArray(usage.identifier, [...identifiers]);
  const rows = reader.db
    .select({ identifier: usage.identifier, at: sql`max(${usage.lastUsedAt})`.mapWith(usage.lastUsedAt) })
    .from(usage)
    .where(and(isAsked, between(usage.day, first, today)))
    .groupBy(usage.identifier)
    .all();
  return new Map(rows.map(({ identifier, at }) => [identifier, at]));
}

/** The first and the last day to show. Days after today were counted while the clock was ahead. */
function keptDays(nowMs: number): [first: number, today: number] {
  const today = dayOf(nowMs);
  return [today - USAGE_DAYS + 1, today];
}

/**
 * The Active keys that match the filter and were not used for `spanMs` milliseconds (at most 400 days), all of them or
 * one page. A key that was never used counts from its approval.
 */
export function unusedKeys(
  reader: Pick<Deps, 'db' | 'clock'>,
  spanMs: number,
  filter: Pick<KeyFilter, 'profileId' | 'namePart'> = {},
  viewer: ActorKind = 'operator',
  part?: ListPage,
): KeyView[] {
  const nowMs = reader.clock.nowMs();
  const [first, today] = keptDays(nowMs);
  const lastUse = reader.db
    .select({ at: max(usage.lastUsedAt) })
    .from(usage)
    .where(and(eq(usage.identifier, apiKeys.identifier), between(usage.day, first, today)));
  const also = sql`ifnull(${lastUse}, ${apiKeys.decidedAt}) <= ${nowMs - spanMs}`;
  return listKeys(reader, { ...filter, states: ['Active'], also }, viewer, part);
}
