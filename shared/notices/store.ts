import type { Clock } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import type { NoticeKind } from '../db/key-columns.ts';
import { prepareWrite } from '../db/write.ts';
import { REQUESTS_EVERY_MS } from '../keys/notice.ts';
import { type Claimed, IS_DUE } from './claim.ts';
import { FIRST_PAUSE_MS, KEPT_MS, LONGEST_PAUSE_MS, MAX_AGE_MS } from './pace.ts';

// What becomes of the rows of `notices` after they were claimed, or were not for too long. Times are milliseconds since
// 1970. Every function throws `busy` where another process holds the lock, and `refused` where the file can't be written.

/** What came of a try. `failed`: it is tried again after a pause; `refused`: never. `fault` is a whole sentence. */
export type Ending = { result: 'accepted' | 'moot' } | { result: 'failed' | 'refused'; fault: string };

/** What a notice that is over says of people is removed, unless that stands in the history of a key anyway. */
const FORGET = "about = CASE WHEN identifier IS NULL THEN '{}' ELSE about END";

/**
 * Stores what came of a try, for all notices that were claimed together, unless they were erased or tried by somebody else
 * meanwhile. Requests that nobody tried to send yet then wait until an hour after a mail about requests.
 */
export function endNotice(sqlite: Sqlite, claimed: Claimed, ending: Ending, clock: Pick<Clock, 'nowMs'>): void {
  const { kind, recipient, together } = claimed;
  inTransaction(sqlite, () => {
    const nowMs = clock.nowMs();
    for (const one of [claimed, ...together]) endOne(sqlite, one, ending, nowMs);
    if (kind !== 'request' || ending.result !== 'accepted') return;
    sqlite
      .query(
        `UPDATE notices SET next_try_at = ?
          WHERE kind = 'request' AND recipient = ? AND sent_at IS NULL AND result = 'waiting' AND tries = 0`,
      )
      .run(nowMs + REQUESTS_EVERY_MS, recipient);
  });
}

function endOne(sqlite: Sqlite, { id, tries, at }: Claimed, ending: Ending, nowMs: number): void {
  const isOurs = sqlite.query("SELECT 1 FROM notices WHERE id = ? AND tries = ? AND result = 'waiting'");
  if (isOurs.get(id, tries) === null) return;
  if (ending.result === 'refused') giveUp(sqlite, 'id = $id', { id }, 'refused', ending.fault, nowMs);
  else if (ending.result === 'failed') {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
    const next = Math.min(nowMs + pauseMs, Math.max(nowMs, at + MAX_AGE_MS));
    sqlite.query('UPDATE notices SET next_try_at = ?, fault = ? WHERE id = ?').run(next, ending.fault, id);
  } else {
    const sentAt = ending.result === 'accepted' ? nowMs : null;
    sqlite
      .query(`UPDATE notices SET result = ?, fault = NULL, sent_at = ?, ${FORGET} WHERE id = ?`)
      .run(ending.result, sentAt, id);
  }
}

/** A notice that was given up: of which key or else of which profile (its id), and which mail. */
export type Dropped = { identifier: string | null; uid: number | null; kind: NoticeKind };

/**
 * Gives up what could not be delivered for three days; the histories of the keys say so. Returns what it was. Removes
 * notices that are not about a key and were over long ago. Does nothing while the clock is not settled.
 */
export function dropOldNotices(sqlite: Sqlite, clock: Pick<Clock, 'settledMs'>): Dropped[] {
  if (clock.settledMs() === null) return [];
  const which = `${IS_DUE} AND at <= $now - ${MAX_AGE_MS}`;
  const fault = 'It could not be delivered for three days.';
  return inTransaction(sqlite, () => {
    const settledMs = clock.settledMs();
    if (settledMs === null) return [];
    sqlite
      .query("DELETE FROM notices WHERE identifier IS NULL AND result <> 'waiting' AND at < ?")
      .run(settledMs - KEPT_MS);
    return giveUp(sqlite, which, { now: settledMs }, 'dropped', fault, settledMs);
  });
}

/** Gives up whatever waits in a backup that is being restored: it may have been sent since. Returns what it was. */
export function dropRestoredNotices(sqlite: Sqlite, clock: Pick<Clock, 'nowMs'>): Dropped[] {
  const fault = 'It waited in a backup that was restored.';
  // A backup of a schema before the notices has nothing to drop. One with them has the older profile_changes too, into
  // which every write notes itself.
  const isThere = sqlite.query("SELECT 1 FROM sqlite_schema WHERE name = 'notices'").get() !== null;
  if (!isThere) return [];
  return inTransaction(sqlite, () => giveUp(sqlite, "result = 'waiting'", {}, 'dropped', fault, clock.nowMs()));
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
  // A backup may have an older schema, in which all notices are about keys.
  const isOlder = sqlite.query("SELECT 1 FROM pragma_table_info('notices') WHERE name = 'profile_id'").get() === null;
  return sqlite
    .query(
      `UPDATE notices SET result = $result, fault = $fault, ${FORGET} WHERE ${which}
        RETURNING identifier, ${isOlder ? 'NULL' : 'profile_id'} AS uid, kind`,
    )
    .all({ ...values, result, fault }) as Dropped[];
}

function inTransaction<T>(sqlite: Sqlite, act: () => T): T {
  return guardDatabase(sqlite.filename, () => prepareWrite(sqlite, act)());
}
