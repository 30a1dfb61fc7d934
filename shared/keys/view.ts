import { and, asc, desc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { isoTime } from '../clock.ts';
import type { Db } from '../db/open.ts';
import { apiKeys, type KeyEventDetail, keyAttempts, keyEvents, profiles } from '../db/schema.ts';
import { expireKeys } from './expire.ts';
import { attemptResultAt, type KeyEventName, type KeyState } from './key.ts';
import type { Permission } from './permissions.ts';
import type { RateLimit } from './rate-limit.ts';
import { type ApiKey, readKey, readOwnerByName } from './record.ts';

/** A key as `--json` prints it; times are ISO 8601 in UTC, `profile` is null once the profile is erased. */
export type KeyView = {
  identifier: string;
  profile: string | null;
  name: string;
  description: string;
  projectUrl: string | null;
  expectedUsage: string | null;
  state: KeyState;
  requestedPermissions: Permission[];
  /** Empty until approved, like `rateLimits`. */
  permissions: Permission[];
  rateLimits: RateLimit[];
  requestedAt: string;
  decidedAt: string | null;
  expiresAt: string | null;
  /** The latest approval attempt. */
  attempt: { number: number; by: string; startedAt: string; result: string } | null;
};

/** One line of a key's history. */
export type HistoryView = {
  at: string;
  by: string;
  event: KeyEventName;
  from: KeyState | null;
  to: KeyState;
  detail: KeyEventDetail | null;
};

type Attempt = typeof keyAttempts.$inferSelect;

/** Where the reader stands: expiry is noticed, and a crashed attempt reads as not confirmed, at this time. */
export type Reader = { db: Db; clock: { nowMs: () => number } };

/** One key. Throws `not_found`. */
export function showKey(reader: Reader, identifier: string): KeyView {
  const nowMs = reader.clock.nowMs();
  expireKeys(reader.db, nowMs, identifier);
  readKey(reader.db, identifier);
  return readViews(reader.db, eq(apiKeys.identifier, identifier), nowMs)[0] as KeyView;
}

/** A key's history, oldest first. */
export function keyHistory(reader: Reader, identifier: string): HistoryView[] {
  return reader.db
    .select()
    .from(keyEvents)
    .where(eq(keyEvents.identifier, identifier))
    .orderBy(asc(keyEvents.id))
    .all()
    .map((row) => ({
      at: isoTime(row.at),
      by: row.by,
      event: row.event,
      from: row.fromState,
      to: row.toState,
      detail: row.detail,
    }));
}

/** Keys in these states (all where none is given) of one profile or of all: pending ones first, each group oldest first. */
export function listKeys(
  reader: Reader,
  filter: { states?: readonly KeyState[] | undefined; profile?: string | undefined },
): KeyView[] {
  const nowMs = reader.clock.nowMs();
  expireKeys(reader.db, nowMs);
  const wanted: SQL[] = [];
  if (filter.states?.length) wanted.push(inArray(apiKeys.state, [...filter.states]));
  if (filter.profile !== undefined) wanted.push(eq(apiKeys.profileId, readOwnerByName(reader.db, filter.profile).id));
  return readViews(reader.db, wanted.length === 0 ? undefined : sql.join(wanted, sql` AND `), nowMs);
}

/** The keys that match, each with its owner and latest attempt: one statement, however many they are. */
function readViews(db: Db, where: SQL | undefined, nowMs: number): KeyView[] {
  const latest = sql`(SELECT max(number) FROM key_attempts WHERE identifier = ${apiKeys.identifier})`;
  return db
    .select({ key: apiKeys, profile: profiles.username, attempt: keyAttempts })
    .from(apiKeys)
    .leftJoin(profiles, eq(profiles.id, apiKeys.profileId))
    .leftJoin(keyAttempts, and(eq(keyAttempts.identifier, apiKeys.identifier), eq(keyAttempts.number, latest)))
    .where(where)
    .orderBy(desc(sql`${apiKeys.state} = 'pending'`), asc(apiKeys.requestedAt), asc(sql`${apiKeys}.rowid`))
    .all()
    .map(({ key, profile, attempt }) => viewOf(key, profile, attempt, nowMs));
}

function viewOf(key: ApiKey, profile: string | null, attempt: Attempt | null, nowMs: number): KeyView {
  return {
    identifier: key.identifier,
    profile,
    name: key.name,
    description: key.description,
    projectUrl: key.projectUrl,
    expectedUsage: key.expectedUsage,
    state: key.state,
    requestedPermissions: key.requestedPermissions,
    permissions: key.permissions ?? [],
    rateLimits: key.rateLimits ?? [],
    requestedAt: isoTime(key.requestedAt),
    decidedAt: key.decidedAt === null ? null : isoTime(key.decidedAt),
    expiresAt: key.expiresAt === null ? null : isoTime(key.expiresAt),
    attempt: attempt
      ? {
          number: attempt.number,
          by: attempt.by,
          startedAt: isoTime(attempt.startedAt),
          result: attemptResultAt(attempt.result, attempt.leaseEndsAt, nowMs),
        }
      : null,
  };
}
