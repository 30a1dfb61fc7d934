import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm';
import { type ActorKind, actorText } from '../actor.ts';
import { isoTime } from '../clock.ts';
import { type Db, preparedOnce, type Tx } from '../db/connect.ts';
import {
  type AttemptResult,
  apiKeys,
  type EventData,
  events,
  type KeyEventName,
  type KeyState,
  keyAttempts,
  type Permission,
  profiles,
  type StoredState,
} from '../db/schema.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import { attemptResultAt, hasSecret, MOVES, stateAt } from './key.ts';
import { type ApiKey, noSuchKey, readKey, type StoredAttempt } from './record.ts';

/** A key as `--json` prints it. Times are ISO 8601 in UTC; `profile` is null once the profile is erased. */
export type KeyView = {
  identifier: string;
  profile: string | null;
  name: string;
  description: string;
  projectUrl: string | null;
  expectedUsage: string | null;
  state: KeyState;
  requestedPermissions: Permission[];
  /** Empty until the key is approved, like `rateLimits`. */
  permissions: Permission[];
  rateLimits: RateLimit[];
  requestedAt: string;
  decidedAt: string | null;
  expiresAt: string | null;
  /** `ban` for a key with a secret while its profile is banned. */
  refusedFor: 'ban' | null;
  /** The identifier of the key that this one was requested to replace. */
  successorOf: string | null;
  /** When the profile's e-mail address was last changed since the request; null if it was not, or if the key is not pending. */
  addressChangedAt: string | null;
  /** The latest approval attempt. */
  attempt: { number: number; by: string; startedAt: string; result: AttemptResult } | null;
};

/** One entry of a key's history. */
export type HistoryView = {
  at: string;
  by: string;
  event: KeyEventName;
  from: StoredState | null;
  to: StoredState;
  detail: EventData | null;
};

/** A database and the time at which it is read, by which keys are `expired` and crashed attempts `not confirmed`. */
export type Reader = {
  db: Db | Tx;
  clock: { nowMs: () => number };
};

/** One key, as this kind of viewer may see it. Throws `not_found`. */
export function showKey(reader: Reader, identifier: string, viewer: ActorKind = 'operator'): KeyView {
  const row = viewOfKey(reader.db).all({ identifier })[0];
  if (row === undefined) throw noSuchKey();
  return viewOf(row, reader.clock.nowMs(), viewer);
}

const eventsOfKey = preparedOnce((db) =>
  db
    .select()
    .from(events)
    .where(and(eq(events.about, sql.placeholder('identifier')), eq(events.subject, 'key')))
    .orderBy(asc(events.id))
    .prepare(),
);

/** The state to which an entry leads; undefined if it leaves the state as it is. */
const STATE_AFTER = new Map<string, StoredState>([
  ['requested', 'pending'],
  ...Object.values(MOVES).map(({ event, to }) => [event, to] as const),
]);

/** A key's history, oldest first, as this kind of viewer may see it. Throws `not_found`. */
export function keyHistory({ db }: Reader, identifier: string, viewer: ActorKind = 'operator'): HistoryView[] {
  readKey(db, identifier);
  let from: StoredState | null = null;
  return eventsOfKey(db)
    .all({ identifier })
    .map(({ at, by, byKind, event, data }) => {
      const to: StoredState = STATE_AFTER.get(event) ?? from ?? 'pending';
      const entry: HistoryView = {
        at: isoTime(at),
        by: actorText({ kind: byKind, name: by }, viewer),
        event: event as KeyEventName,
        from,
        to,
        detail: viewer === 'owner' ? shownToOwner(event, data) : data,
      };
      from = to;
      return entry;
    });
}

// Removes the mail server's responses: they are only for admins and operators, since they may name machines and addresses.
function shownToOwner(event: string, detail: EventData | null): EventData | null {
  if (detail === null || !ABOUT_MAILS.includes(event)) return detail;
  const { reason: _reason, isTemporary: _isTemporary, ...shown } = detail;
  return Object.keys(shown).length === 0 ? null : shown;
}

const ABOUT_MAILS: readonly string[] = ['approval refused', 'approval not confirmed'];

const viewOfKey = preparedOnce((db) =>
  selectViews(db, eq(apiKeys.identifier, sql.placeholder('identifier'))).prepare(),
);

/** The matching keys, each with its owner and latest attempt, in one statement. */
export function selectViews(db: Db | Tx, where: SQL | undefined) {
  const latest = sql`(SELECT max(number) FROM key_attempts WHERE identifier = ${apiKeys.identifier})`;
  const addressChangedAt = sql<number | null>`CASE WHEN ${apiKeys.state} = 'pending' THEN (SELECT max(at) FROM events
    WHERE about = ${apiKeys.identifier} AND subject = 'key' AND event = 'address changed') END`;
  return db
    .select({
      key: apiKeys,
      profile: profiles.username,
      isBanned: profiles.banned,
      attempt: keyAttempts,
      addressChangedAt,
    })
    .from(apiKeys)
    .leftJoin(profiles, eq(profiles.id, apiKeys.profileId))
    .leftJoin(keyAttempts, and(eq(keyAttempts.identifier, apiKeys.identifier), eq(keyAttempts.number, latest)))
    .where(where)
    .orderBy(desc(sql`${apiKeys.state} = 'pending'`), asc(apiKeys.requestedAt), asc(sql`${apiKeys}.rowid`));
}

type ViewRow = {
  key: ApiKey;
  profile: string | null;
  /** Null once the profile is erased. */
  isBanned: boolean | null;
  attempt: StoredAttempt | null;
  /** Milliseconds since 1970. */
  addressChangedAt: number | null;
};

export function viewOf(row: ViewRow, nowMs: number, viewer: ActorKind): KeyView {
  const { key, profile, isBanned, attempt, addressChangedAt } = row;
  const state = stateAt(key, nowMs);
  return {
    identifier: key.identifier,
    profile,
    name: key.name,
    description: key.description,
    projectUrl: key.projectUrl,
    expectedUsage: key.expectedUsage,
    state,
    requestedPermissions: key.requestedPermissions,
    permissions: key.permissions ?? [],
    rateLimits: key.rateLimits ?? [],
    requestedAt: isoTime(key.requestedAt),
    decidedAt: key.decidedAt === null ? null : isoTime(key.decidedAt),
    expiresAt: key.expiresAt === null ? null : isoTime(key.expiresAt),
    refusedFor: isBanned === true && hasSecret(state) ? 'ban' : null,
    successorOf: key.successorOf,
    addressChangedAt: addressChangedAt === null ? null : isoTime(addressChangedAt),
    attempt: attempt
      ? {
          number: attempt.number,
          by: actorText({ kind: attempt.byKind, name: attempt.by }, viewer),
          startedAt: isoTime(attempt.startedAt),
          result: attemptResultAt(attempt.result, attempt.leaseEndsAt, nowMs),
        }
      : null,
  };
}
