import { and, between, desc, eq, inArray, sql } from 'drizzle-orm';
import { DAY_MS, isoTime } from '../clock.ts';
import { guardDatabase } from '../db/faults.ts';
import { apiKeys, keyUsage as usage } from '../db/schema/keys.ts';
import { profileNames } from '../db/schema/profiles.ts';
import type { Deps } from '../deps.ts';
import { type DiskRoom, diskWarning, readDiskRoom } from '../files/disk.ts';
import { type Level, type Limits, scarcest } from '../limits/limits.ts';
import { type MailStatus, readMailStatus } from '../mail/outbox.ts';
import { type LastImport, readLastImport } from '../profiles/import/report.ts';
import { readKeyStats } from './stats.ts';
import { dayOf, eachOutcome, type Outcomes, USAGE_OUTCOMES } from './usage.ts';

/** A key in a list. The name of the profile is null once it is erased. */
export type NamedKey = { identifier: string; name: string; profile: string | null };

/** A key that is near or at a limit, or had requests refused for one today. */
type LimitedKey = NamedKey & {
  /** The limit with the smallest remaining share. */
  level: Level;
  refused: number;
};

/** The usage of the service and its pending work, for admins. Days are UTC days. */
export type Overview = {
  days: ({ day: string } & Outcomes)[];
  /** The keys with the most requests in these days, each with today's requests. */
  busiest: (NamedKey & { requests: number; today: number })[];
  limited: LimitedKey[];
  queue: { pending: number; active: number; oldestAtMs: number | null };
  mails: MailStatus;
  lastImport: LastImport | null;
  lastFeed: LastImport | null;
  /** Null if the file system does not report it; `isLow` if backups, upgrades and VACUUM may lack room. */
  disk: (DiskRoom & { isLow: boolean }) | null;
};

/** The number of days covered, including today. */
export const OVERVIEW_DAYS = 30;

const MAX_LISTED = 10;

/** How many of today's busiest keys are checked for their remaining limits. */
const CHECKED_KEYS = 200;

/** A key is near a limit if at most this share of the quota is left. */
const NEAR = 0.2;

/** Reads the overview; requests of the last seconds may be missing. */
export function readOverview(deps: Deps, limits: Pick<Limits, 'levelsOf'>): Overview {
  const { db, clock, config } = deps;
  const path = config.databasePath;
  const nowMs = clock.nowMs();
  const { states, oldestPendingAt } = readKeyStats(db, nowMs);
  const room = readDiskRoom(path);
  return guardDatabase(path, () => ({
    days: readDays(deps, nowMs),
    busiest: readBusiest(deps, nowMs),
    limited: readLimited(deps, limits, nowMs),
    queue: { pending: states.pending, active: states.Active, oldestAtMs: oldestPendingAt },
    mails: readMailStatus(db, nowMs),
    lastImport: readLastImport(db.$client, 'import'),
    lastFeed: readLastImport(db.$client, 'feed'),
    disk: room === null ? null : { ...room, isLow: diskWarning(path) !== null },
  }));
}

function readDays({ db }: Deps, nowMs: number): Overview['days'] {
  const today = dayOf(nowMs);
  const first = today - OVERVIEW_DAYS + 1;
  const totals = eachOutcome((outcome) => sql`sum(${usage[outcome]})`.mapWith(Number));
  const rows = db
    .select({ day: usage.day, ...totals })
    .from(usage)
    .where(between(usage.day, first, today))
    .groupBy(usage.day)
    .all();
  return Array.from({ length: OVERVIEW_DAYS }, (_, index) => {
    const found = rows.find(({ day }) => day === first + index);
    return { ...(found ?? eachOutcome(() => 0)), day: isoTime((first + index) * DAY_MS).slice(0, 10) };
  });
}

/** All requests of a row, including refused ones. */
const ALL = sql.join(
  USAGE_OUTCOMES.map((outcome) => sql`${usage[outcome]}`),
  sql` + `,
);

const NAMED = { identifier: apiKeys.identifier, name: apiKeys.name, profile: profileNames.name };

function readBusiest({ db }: Deps, nowMs: number): Overview['busiest'] {
  const today = dayOf(nowMs);
  const requests = sql`sum(${ALL})`.mapWith(Number);
  return db
    .select({ ...NAMED, requests, today: sql`sum(iif(${usage.day} = ${today}, ${ALL}, 0))`.mapWith(Number) })
    .from(usage)
    .innerJoin(apiKeys, eq(apiKeys.identifier, usage.identifier))
    .leftJoin(profileNames, and(eq(profileNames.profileId, apiKeys.profileId), eq(profileNames.position, 0)))
    .where(between(usage.day, today - OVERVIEW_DAYS + 1, today))
    .groupBy(apiKeys.identifier)
    .orderBy(desc(requests), apiKeys.identifier)
    .limit(MAX_LISTED)
    .all();
}

/** The Active keys used today that are near or at a limit, those with the smallest share left first. */
function readLimited({ db }: Deps, limits: Pick<Limits, 'levelsOf'>, nowMs: number): LimitedKey[] {
  const used = db
    .select({ ...NAMED, rateLimits: apiKeys.rateLimits, refused: usage.limited })
    .from(usage)
    .innerJoin(apiKeys, eq(apiKeys.identifier, usage.identifier))
    .leftJoin(profileNames, and(eq(profileNames.profileId, apiKeys.profileId), eq(profileNames.position, 0)))
    .where(and(eq(usage.day, dayOf(nowMs)), inArray(apiKeys.state, ['Active'])))
    .orderBy(desc(usage.limited), desc(ALL))
    .limit(CHECKED_KEYS)
    .all();
  const share = ({ remaining, quota }: Level) => remaining / quota;
  return used
    .flatMap(({ rateLimits, ...key }): LimitedKey[] => {
      const levels = limits.levelsOf({ identifier: key.identifier, rateLimits: rateLimits ?? [] });
      const level = scarcest(levels);
      return level !== undefined && (key.refused > 0 || share(level) <= NEAR) ? [{ ...key, level }] : [];
    })
    .sort((a, b) => share(a.level) - share(b.level) || b.refused - a.refused)
    .slice(0, MAX_LISTED);
}
