import type { ActorKind } from '../actor.ts';
import type { Clock } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import type { KeyState, NoticeKind, Permission } from '../db/key-columns.ts';
import type { KeyEventDetail } from '../db/schema/keys.ts';
import type { NoticeAbout } from '../db/schema/notices.ts';
import { prepareWrite } from '../db/write.ts';
import { HELD_UP_MS, LEASE_MS, LONGEST_PAUSE_MS } from './pace.ts';

// Whoever sends a notice claims it first, which puts its next try off for a lease, so that two processes never send the same
// one at once. Times are milliseconds since 1970. Both functions throw `busy` where another process holds the lock, and
// `refused` where the file can't be written.

/** The key that a notice is about, as it stands at this moment. */
export type NoticeKey = {
  identifier: string;
  state: KeyState;
  keyName: string;
  description: string;
  requestedPermissions: Permission[];
  projectUrl: string | null;
  expectedUsage: string | null;
  /** The identifier of the key that this one is to replace, or null. */
  successorOf: string | null;
  expiresAt: number | null;
  /** When this expiry was given to the key: by its approval, or by a later change; null before its approval. */
  expirySetAt: number | null;
};

/** A notice that is claimed for sending, with what is known at this moment of its key and its profile. */
export type Claimed = {
  id: number;
  kind: NoticeKind;
  recipient: string;
  /** The same for all notices that go to one address: of several such, one is sent at a time. */
  lane: string;
  about: NoticeAbout;
  at: number;
  tries: number;
  /** Null where it is not about a key. */
  key: NoticeKey | null;
  /** The profile's id; this and what follows is null once the profile is erased, and where it is not about a profile. */
  uid: number | null;
  profile: string | null;
  email: string | null;
  isBanned: boolean;
  /** What the entry of the history says that it tells of; null where that says nothing, or was damaged. */
  detail: KeyEventDetail | null;
  /** What kind of actor did that; null where there is no such entry. */
  byKind: ActorKind | null;
  /** Other notices that are claimed with this one and go out in the same mail: requests to the same recipient. */
  together: Claimed[];
};

type Row = Omit<Claimed, 'about' | 'key' | 'isBanned' | 'detail' | 'together'> &
  Omit<NoticeKey, 'identifier' | 'requestedPermissions'> & {
    identifier: string | null;
    about: string;
    requestedPermissions: string;
    banned: number | null;
    detail: string | null;
  };

/**
 * When the row of `api_keys` that is called `key` was given its expiry: by the last change of it, or by its approval. A
 * change whose entry in the history is damaged is passed over.
 */
export const EXPIRY_SET_AT = `coalesce(
    (SELECT max(at) FROM key_events WHERE identifier = key.identifier AND event = 'changed'
      AND CASE WHEN json_valid(detail) THEN detail ->> '$.changes.expiresAt.to' END IS NOT NULL),
    key.decided_at)`;

/** A time in the far future is one that was stored before the clock was set back. */
export const IS_DUE = `result = 'waiting' AND (next_try_at <= $now OR next_try_at > $now + ${LONGEST_PAUSE_MS})`;

const LANE = `coalesce(CASE recipient WHEN 'owner' THEN email WHEN 'former address' THEN about ->> 'formerEmail'
    ELSE recipient END, '')`;

const SELECT = `SELECT notice.id, notice.identifier, kind, recipient, ${LANE} AS lane, about, notice.at, tries + 1 AS tries, key.state,
    key.name AS keyName, description, requested_permissions AS requestedPermissions, project_url AS projectUrl,
    expected_usage AS expectedUsage, key.expires_at AS expiresAt, successor_of AS successorOf,
    ${EXPIRY_SET_AT} AS expirySetAt, profile.id AS uid, profile.username AS profile, email, banned,
    CASE WHEN json_valid(detail) THEN detail END AS detail, event.by_kind AS byKind
  FROM notices AS notice LEFT JOIN api_keys AS key ON key.identifier = notice.identifier
    LEFT JOIN profiles AS profile ON profile.id = coalesce(key.profile_id, notice.profile_id)
    LEFT JOIN key_events AS event ON event.id = about ->> 'event'`;

const IS_EARLIER = `earlier.recipient = notice.recipient AND earlier.id < notice.id AND earlier.result = 'waiting'
  AND earlier.kind <> 'request'`;

/** A mail with requests to the same recipient is on its way now, and others wait for its end. */
const IS_GATHERING = `SELECT 1 FROM notices AS other WHERE other.kind = 'request' AND other.recipient = notice.recipient
  AND other.sent_at IS NULL AND other.result = 'waiting' AND other.tries > 0
  AND other.next_try_at > $now AND other.next_try_at <= $now + ${LEASE_MS}`;

const NEXT = `${SELECT}
  WHERE ${IS_DUE} AND ($identifier IS NULL OR notice.identifier = $identifier)
    AND (notice.at <= $now - ${HELD_UP_MS} OR (
      NOT EXISTS (SELECT 1 FROM notices AS earlier WHERE earlier.identifier = notice.identifier AND ${IS_EARLIER})
      AND NOT EXISTS (SELECT 1 FROM notices AS earlier WHERE earlier.profile_id = notice.profile_id AND ${IS_EARLIER})))
    AND NOT (kind = 'request' AND EXISTS (${IS_GATHERING}))
    AND NOT (kind = 'reminder' AND key.expires_at <= $now AND NOT $isSettled)
    AND ${LANE} NOT IN (SELECT value FROM json_each($busyLanes))
  ORDER BY (kind = 'address'), next_try_at, notice.id LIMIT 1`;

const WAITING_REQUESTS = `${SELECT}
  WHERE kind = 'request' AND recipient = $recipient AND sent_at IS NULL AND result = 'waiting' AND notice.id <> $id
  ORDER BY notice.id`;

/** Whether any notice is due, held up ones included; takes no lock. */
export function hasDueNotice(sqlite: Sqlite, nowMs: number): boolean {
  return guardDatabase(sqlite.filename, () => {
    return sqlite.query(`SELECT 1 FROM notices WHERE ${IS_DUE} LIMIT 1`).get({ now: nowMs }) !== null;
  });
}

/**
 * Which notices are claimed: of all keys or, where one is named, of this one; none of the lanes in which one is being sent.
 * While the clock is not settled, no reminder is claimed that seems to be too late, since it would be given up as `moot`.
 */
export type Claimable = { identifier: string | null; busyLanes: readonly string[]; isSettled: boolean };

/**
 * Claims the notice that is due first; null where none is. With a request it claims all
 * requests that the same recipient is to be told of; those that were decided meanwhile are not sent any more.
 */
export function claimNotice(sqlite: Sqlite, clock: Pick<Clock, 'nowMs'>, claimable: Claimable): Claimed | null {
  const { identifier, busyLanes, isSettled } = claimable;
  const claim = prepareWrite(sqlite, () => {
    const nowMs = clock.nowMs();
    const values = { now: nowMs, identifier, busyLanes: JSON.stringify(busyLanes), isSettled };
    for (;;) {
      const row = sqlite.query(NEXT).get(values) as Row | null;
      if (row === null) return null;
      if (row.kind === 'request' && isDecided(sqlite, row)) continue;
      take(sqlite, row, nowMs);
      return { ...claimedOf(row), together: row.kind === 'request' ? takeOthers(sqlite, row, nowMs) : [] };
    }
  });
  return guardDatabase(sqlite.filename, claim);
}

function takeOthers(sqlite: Sqlite, { id, recipient }: Row, nowMs: number): Claimed[] {
  const rows = sqlite.query(WAITING_REQUESTS).all({ recipient, id }) as Row[];
  const pending = rows.filter((row) => !isDecided(sqlite, row));
  for (const row of pending) take(sqlite, row, nowMs);
  return pending.map(claimedOf);
}

/** Whether a request was decided meanwhile; then nobody is to be told of it any more. */
function isDecided(sqlite: Sqlite, { id, state }: Row): boolean {
  if (state === 'pending') return false;
  sqlite.query("UPDATE notices SET result = 'moot', fault = NULL WHERE id = ?").run(id);
  return true;
}

function take(sqlite: Sqlite, { id, tries }: Row, nowMs: number): void {
  sqlite.query('UPDATE notices SET tries = ?, next_try_at = ? WHERE id = ?').run(tries, nowMs + LEASE_MS, id);
}

function claimedOf(row: Row): Claimed {
  const { id, kind, recipient, lane, at, tries, uid, profile, email, byKind, identifier } = row;
  const { state, keyName, description, projectUrl, expectedUsage, successorOf, expiresAt, expirySetAt } = row;
  const facts = { state, keyName, description, projectUrl, expectedUsage, successorOf, expiresAt, expirySetAt };
  const requested = () => JSON.parse(row.requestedPermissions) as Permission[];
  return {
    ...{ id, kind, recipient, lane, at, tries, uid, profile, email, byKind },
    about: JSON.parse(row.about),
    key: identifier === null ? null : { identifier, ...facts, requestedPermissions: requested() },
    isBanned: row.banned === 1,
    detail: row.detail === null ? null : JSON.parse(row.detail),
    together: [],
  };
}
