import { and, between, desc, eq, inArray, sql } from 'drizzle-orm';
import { DAY_MS, isoTime } from '../clock.ts';
import { apiKeys, profileNames, keyUsage as usage, usageDays } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { type DiskRoom, diskWarning, readDiskRoom } from '../files/disk.ts';
import { type Level, type Limits, scarcest } from '../limits/limits.ts';
import { type MailStatus, readMailStatus } from '../mail/delivery.ts';
import { type LastImport, readLastImport } from '../profiles/import/report.ts';
import { readStates } from './stats.ts';
import { dayOf, eachOutcome, type Outcomes } from './usage.ts';

/** A key in a list. The name of the profile is null once it is erased. */
type NamedKey = { identifier: string; name: string; profile: string | null };

/** A key that is near or at a limit, or had requests refused for one today. */
type LimitedKey = NamedKey & {
  /** The limit with the smallest remaining share. */
  level: Level;
  refused: number;
};

/** The usage of the service and its pending work, for admins. Days are UTC days. */
export type Overview = {
  days: ({ day: string } & Outcomes)[];
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

/** How many keys that seem near a limit are looked at. */
const CHECKED_KEYS = 200;

/** A key is near a limit if at most this share of the quota is left. */
const NEAR = 0.2;

/** Reads the overview; requests of the last seconds may be missing. */
export function readOverview(deps: Deps, limits: Pick<Limits, 'levelsOf' | 'nearLimits'>): Overview {
  const { db, clock, config } = deps;
  const path = config.databasePath;
  const nowMs = clock.nowMs();
  const { states, oldestPendingAt } = readStates(db, nowMs);
  const room = readDiskRoom(path);
  return {
    days: readDays(deps, nowMs),
    limited: readLimited(deps, limits, nowMs),
    queue: { pending: states.pending, active: states.Active, oldestAtMs: oldestPendingAt },
    mails: readMailStatus(db, nowMs),
    lastImport: readLastImport(db.$client, 'import'),
    lastFeed: readLastImport(db.$client, 'feed'),
    disk: room === null ? null : { ...room, isLow: diskWarning(path) !== null },
  };
}

function readDays({ db }: Deps, nowMs: number): Overview['days'] {
  const today = dayOf(nowMs);
  const first = today - OVERVIEW_DAYS + 1;
  const rows = db
    .select()
    .from(usageDays)
    .where(between(usageDays.day, first, today))
    .all();
  return Array.from({ length: OVERVIEW_DAYS }, (_, index) => {
    const found = rows.find(({ day }) => day === first + index);
    return { ...(found ?? eachOutcome(() => 0)), day: isoTime((first + index) * DAY_MS).slice(0, 10) };
  });
}

/** The Active keys that are near or at a limit, or were refused for one today, those with the smallest share left first. */
function readLimited({ db }: Deps, limits: Pick<Limits, 'levelsOf' | 'nearLimits'>, nowMs: number): LimitedKey[] {
  const refused = db
    .select({ identifier: usage.identifier, limited: usage.limited })
    .from(usage)
    .where(and(eq(usage.day, dayOf(nowMs)), sql`${usage.limited} > 0`))
    .orderBy(desc(usage.limited))
    .limit(MAX_LISTED)
    .all();
  const refusedOf = new Map(refused.map(({ identifier, limited }) => [identifier, limited]));
  const found = [...refusedOf.keys(), ...limits.nearLimits(NEAR).slice(0, CHECKED_KEYS)];
  const keys = db
    .select({
      identifier: apiKeys.identifier,
      name: apiKeys.name,
      profile: profileNames.name,
      state: apiKeys.state,
      rateLimits: apiKeys.rateLimits,
    })
    .from(apiKeys)
    .leftJoin(profileNames, and(eq(profileNames.profileId, apiKeys.profileId), eq(profileNames.position, 0)))
    // With the state in the condition, SQLite would read all Active keys.
    .where(inArray(apiKeys.identifier, found))
    .all();
  const share = ({ remaining, quota }: Level) => remaining / quota;
  return keys
    .flatMap(({ state, rateLimits, ...key }): LimitedKey[] => {
      if (state !== 'Active') return [];
      const { identifier } = key;
      const level = scarcest(limits.levelsOf({ identifier, rateLimits: rateLimits ?? [] }));
      const times = refusedOf.get(identifier) ?? 0;
      return level !== undefined && (times > 0 || share(level) <= NEAR) ? [{ ...key, refused: times, level }] : [];
    })
    .sort((a, b) => share(a.level) - share(b.level) || b.refused - a.refused)
    .slice(0, MAX_LISTED);
}
