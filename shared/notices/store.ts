import { DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import type { KeyState, NoticeKind, NoticeResult, Permission } from '../db/key-columns.ts';
import type { KeyEventDetail, NoticeAbout } from '../db/schema.ts';
import { prepareWrite } from '../db/write.ts';

// The rows of `notices` in the database. Times are milliseconds since 1970. Whoever sends a notice claims it first, which
// puts its next try off for a lease, so that two processes never send the same one at once. Every function throws `busy`
// where another process holds the lock, and `refused` where the file can't be written.

/** How long a claimed notice is left alone: twice what a delivery may take. */
const LEASE_MS = 120_000;

/** The pause after the first failure; each further one is twice as long, up to the longest. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = DAY_MS / 4;

/** A notice that is older is given up. */
const MAX_AGE_MS = 3 * DAY_MS;

/** How long a notice waits for an earlier one about the same key to the same recipient. */
const HELD_UP_MS = DAY_MS / 24;

/** A notice that is claimed for sending, with what is known of its key at this moment. */
export type Claimed = {
  id: number;
  identifier: string;
  kind: NoticeKind;
  recipient: string;
  about: NoticeAbout;
  at: number;
  tries: number;
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
  /** The rest is null once the profile is erased. */
  profile: string | null;
  email: string | null;
  isBanned: boolean;
  /** What the entry of the history says that it tells of; null where that says nothing, or was damaged. */
  detail: KeyEventDetail | null;
};

type Row = Omit<Claimed, 'about' | 'detail' | 'requestedPermissions' | 'isBanned'> & {
  about: string;
  detail: string | null;
  requestedPermissions: string;
  banned: number | null;
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
const IS_DUE = `result = 'waiting' AND (next_try_at <= $now OR next_try_at > $now + ${LONGEST_PAUSE_MS})`;

const CLAIM = `SELECT notice.id, notice.identifier, kind, recipient, about, notice.at, tries + 1 AS tries, key.state,
    key.name AS keyName, description, requested_permissions AS requestedPermissions, project_url AS projectUrl,
    expected_usage AS expectedUsage, key.expires_at AS expiresAt, successor_of AS successorOf,
    ${EXPIRY_SET_AT} AS expirySetAt, profile.username AS profile, email, banned,
    (SELECT CASE WHEN json_valid(detail) THEN detail END FROM key_events WHERE id = about ->> 'event') AS detail
  FROM notices AS notice JOIN api_keys AS key USING (identifier) LEFT JOIN profiles AS profile ON profile.id = profile_id
  WHERE ${IS_DUE} AND ($identifier IS NULL OR notice.identifier = $identifier)
    AND (notice.at <= $now - ${HELD_UP_MS} OR NOT EXISTS (
      SELECT 1 FROM notices AS earlier WHERE earlier.identifier = notice.identifier
        AND earlier.recipient = notice.recipient AND earlier.id < notice.id AND earlier.result = 'waiting'))
  ORDER BY next_try_at, notice.id LIMIT 1`;

/** Whether any notice is due, held up ones included; takes no lock. */
export function hasDueNotice(sqlite: Sqlite, nowMs: number): boolean {
  return guardDatabase(sqlite.filename, () => {
    return sqlite.query(`SELECT 1 FROM notices WHERE ${IS_DUE} LIMIT 1`).get({ now: nowMs }) !== null;
  });
}

/** Claims the notice that is due first, of this key where one is named; null where none is. */
export function claimNotice(sqlite: Sqlite, nowMs: number, identifier: string | null = null): Claimed | null {
  return inTransaction(sqlite, () => {
    const row = sqlite.query(CLAIM).get({ now: nowMs, identifier }) as Row | null;
    if (row === null) return null;
    sqlite
      .query('UPDATE notices SET tries = $tries, next_try_at = $next WHERE id = $id')
      .run({ id: row.id, tries: row.tries, next: nowMs + LEASE_MS });
    const { about, detail, requestedPermissions, banned, ...rest } = row;
    return {
      ...rest,
      about: JSON.parse(about),
      detail: detail === null ? null : JSON.parse(detail),
      requestedPermissions: JSON.parse(requestedPermissions),
      isBanned: banned === 1,
    };
  });
}

/** What came of a try. `failed`: it is tried again after a pause; `refused`: never. `fault` is a whole sentence. */
export type Ending = { result: 'accepted' | 'moot' } | { result: 'failed' | 'refused'; fault: string };

/** Stores what came of a try, unless the notice was erased or tried by somebody else meanwhile. */
export function endNotice(sqlite: Sqlite, claimed: Claimed, ending: Ending, nowMs: number): void {
  const { id, tries, at } = claimed;
  inTransaction(sqlite, () => {
    const isOurs = sqlite.query("SELECT 1 FROM notices WHERE id = ? AND tries = ? AND result = 'waiting'");
    if (isOurs.get(id, tries) === null) return;
    if (ending.result === 'refused') giveUp(sqlite, 'id = $id', { id }, 'refused', ending.fault, nowMs);
    else if (ending.result === 'failed') {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
      const next = Math.min(nowMs + pauseMs, Math.max(nowMs, at + MAX_AGE_MS));
      sqlite.query('UPDATE notices SET next_try_at = ?, fault = ? WHERE id = ?').run(next, ending.fault, id);
    } else sqlite.query('UPDATE notices SET result = ?, fault = NULL WHERE id = ?').run(ending.result, id);
  });
}

/** A notice that was given up: of which key, and which mail. */
export type Dropped = { identifier: string; kind: NoticeKind };

/** Gives up what could not be delivered for three days; the histories of the keys say so. Returns what it was. */
export function dropOldNotices(sqlite: Sqlite, nowMs: number): Dropped[] {
  const which = `${IS_DUE} AND at <= $now - ${MAX_AGE_MS}`;
  const fault = 'It could not be delivered for three days.';
  return inTransaction(sqlite, () => giveUp(sqlite, which, { now: nowMs }, 'dropped', fault, nowMs));
}

/** Gives up whatever waits in a backup that is being restored: it may have been sent since. Returns what it was. */
export function dropRestoredNotices(sqlite: Sqlite, nowMs: number): Dropped[] {
  const fault = 'It waited in a backup that was restored.';
  // A backup of a schema before the notices has nothing to drop. One with them has the older profile_changes too, into
  // which every write notes itself.
  const isThere = sqlite.query("SELECT 1 FROM sqlite_schema WHERE name = 'notices'").get() !== null;
  if (!isThere) return [];
  return inTransaction(sqlite, () => giveUp(sqlite, "result = 'waiting'", {}, 'dropped', fault, nowMs));
}

/** Ends notices that were not delivered, and adds that to the histories of their keys, inside a transaction. */
function giveUp(
  sqlite: Sqlite,
  which: string,
  values: Record<string, number>,
  result: 'refused' | 'dropped',
  fault: string,
  nowMs: number,
): Dropped[] {
  sqlite
    .query(
      `INSERT INTO key_events (identifier, at, by, by_kind, event, from_state, to_state, detail)
        SELECT identifier, $at, 'system', 'service', 'mail not delivered', state, state,
          json_object('mail', kind, 'to', recipient, 'reason', $fault)
        FROM (SELECT * FROM notices WHERE ${which}) JOIN api_keys USING (identifier) ORDER BY id`,
    )
    .run({ ...values, at: nowMs, fault });
  return sqlite
    .query(`UPDATE notices SET result = $result, fault = $fault WHERE ${which} RETURNING identifier, kind`)
    .all({ ...values, result, fault }) as Dropped[];
}

/** A notice that is not delivered: it waits, or was given up. */
export type Undelivered = {
  identifier: string;
  kind: NoticeKind;
  recipient: string;
  at: number;
  tries: number;
  result: Exclude<NoticeResult, 'accepted' | 'moot'>;
  fault: string | null;
};

const UNDELIVERED = `SELECT identifier, kind, recipient, at, tries, result, fault FROM notices
  WHERE result IN ('waiting', 'refused', 'dropped')`;

/** All that wait, and those given up among the ones stored since this time; the oldest first. */
export function undeliveredNotices(sqlite: Sqlite, sinceMs: number): Undelivered[] {
  return guardDatabase(sqlite.filename, () => {
    return sqlite.query(`${UNDELIVERED} AND (result = 'waiting' OR at >= ?) ORDER BY id`).all(sinceMs) as Undelivered[];
  });
}

/** Those of these notices that are not delivered. */
export function undeliveredOf(sqlite: Sqlite, ids: readonly number[]): Undelivered[] {
  return guardDatabase(sqlite.filename, () => {
    return sqlite
      .query(`${UNDELIVERED} AND id IN (SELECT value FROM json_each(?)) ORDER BY id`)
      .all(JSON.stringify(ids)) as Undelivered[];
  });
}

function inTransaction<T>(sqlite: Sqlite, act: () => T): T {
  return guardDatabase(sqlite.filename, () => prepareWrite(sqlite, act)());
}
