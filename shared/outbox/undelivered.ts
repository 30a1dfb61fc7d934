import { and, asc, eq, gt, gte, inArray, not, or, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { notices } from '../db/schema/notices.ts';
import { LEASE_MS } from './retry-policy.ts';
import { IS_FOR_WEBHOOK, IS_REQUEST, IS_WAITING } from './rows.ts';

// Undelivered notices, for operators and admins. Times are milliseconds since 1970.

const UNDELIVERED = ['waiting', 'refused', 'dropped'] as const;

function selectUndelivered(db: Db, nowMs: number, which: SQL | undefined) {
  // Requests that wait because a mail was sent within the last hour are not late.
  const isNotLate = and(
    IS_WAITING,
    eq(notices.tries, 0),
    // Only the server sends messages to the webhook, some seconds later.
    or(and(IS_REQUEST, gt(notices.nextTryAt, nowMs)), and(IS_FOR_WEBHOOK, gt(notices.at, nowMs - LEASE_MS))),
  );
  return db
    .select({
      /** The key it is about, or else the profile's id; both are null for the enrolment of an admin. */
      identifier: notices.identifier,
      uid: notices.profileId,
      kind: notices.kind,
      recipient: notices.recipient,
      at: notices.at,
      tries: notices.tries,
      result: notices.result,
      fault: notices.fault,
    })
    .from(notices)
    .where(and(inArray(notices.result, [...UNDELIVERED]).inlineParams(), not(isNotLate as SQL), which))
    .orderBy(asc(notices.id));
}

/** An undelivered notice: it is waiting, was refused or was dropped. */
export type Undelivered = ReturnType<ReturnType<typeof selectUndelivered>['all']>[number];

/** All waiting notices, and the refused and dropped ones that were stored since `sinceMs`, oldest first. */
export function undeliveredNotices(db: Db, nowMs: number, sinceMs: number): Undelivered[] {
  const which = or(IS_WAITING, gte(notices.at, sinceMs));
  return guardDatabase(db.$client.filename, () => selectUndelivered(db, nowMs, which).all());
}

/** The undelivered notices among `ids`. */
export function undeliveredOf(db: Db, nowMs: number, ids: readonly number[]): Undelivered[] {
  const which = sql`${notices.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
  return guardDatabase(db.$client.filename, () => selectUndelivered(db, nowMs, which).all());
}

/** The subject of a notice in words: a key, a profile, or an admin. */
export function subjectInWords({ identifier, uid }: { identifier: string | null; uid: number | null }): string {
  if (identifier !== null) return `key ${identifier}`;
  return uid === null ? 'an admin' : `profile ${uid}`;
}
