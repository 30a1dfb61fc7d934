import type { Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import type { NoticeKind, NoticeResult } from '../db/key-columns.ts';

// The notices that were not delivered, for whoever looks after them. Times are milliseconds since 1970.

/** A notice that is not delivered: it waits, or was given up. */
export type Undelivered = {
  /** The key that it is about, or else the id of the profile; both are null for the enrolment of an admin. */
  identifier: string | null;
  uid: number | null;
  kind: NoticeKind;
  recipient: string;
  at: number;
  tries: number;
  result: Exclude<NoticeResult, 'accepted' | 'moot'>;
  fault: string | null;
};

/** Requests that are told together later, since a mail about requests went out within the hour, are not late. */
const UNDELIVERED = `SELECT identifier, profile_id AS uid, kind, recipient, at, tries, result, fault FROM notices
  WHERE result IN ('waiting', 'refused', 'dropped')
    AND NOT (kind = 'request' AND result = 'waiting' AND tries = 0 AND next_try_at > $now)`;

/** All that wait, and those given up among the ones stored since this time; the oldest first. Throws `busy`. */
export function undeliveredNotices(sqlite: Sqlite, nowMs: number, sinceMs: number): Undelivered[] {
  return guardDatabase(sqlite.filename, () => {
    return sqlite
      .query(`${UNDELIVERED} AND (result = 'waiting' OR at >= $since) ORDER BY id`)
      .all({ now: nowMs, since: sinceMs }) as Undelivered[];
  });
}

/** Those of these notices that are not delivered. Throws `busy`. */
export function undeliveredOf(sqlite: Sqlite, nowMs: number, ids: readonly number[]): Undelivered[] {
  return guardDatabase(sqlite.filename, () => {
    return sqlite
      .query(`${UNDELIVERED} AND id IN (SELECT value FROM json_each($ids)) ORDER BY id`)
      .all({ now: nowMs, ids: JSON.stringify(ids) }) as Undelivered[];
  });
}

/** What a notice is about, in words: its key, its profile, or an admin. */
export function subjectInWords({ identifier, uid }: { identifier: string | null; uid: number | null }): string {
  if (identifier !== null) return `key ${identifier}`;
  return uid === null ? 'an admin' : `profile ${uid}`;
}
