import { and, asc, eq, gt, isNull, lt, lte, ne, not, notExists, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import type { Clock } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { isPostponed } from '../db/live.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { notices } from '../db/schema/notices.ts';
import { write } from '../db/write.ts';
import { LEASE_MS, MAX_HELD_MS } from './retry-policy.ts';
import { IS_FOR_WEBHOOK, IS_REQUEST, IS_WAITING, isDue, LANE, type NoticeRow, selectNotices } from './rows.ts';

// A process leases a notice before it sends it, which postpones the next try, so that two processes never send the same
// notice at the same time. Times are milliseconds since 1970. Functions throw `refused` if the file can't be written.

/**
 * A notice leased for sending, with the current data of its key and profile. `together` are further notices in the same
 * mail or message: requests to the same recipient, or everything for the webhook.
 */
export type LeasedNotice = NoticeRow & { together: LeasedNotice[] };

const earlier = alias(notices, 'earlier');
const other = alias(notices, 'other');

const NOW = sql.placeholder('now');

const nextNotice = keepQuery((db) => {
  const [identifier, profileId] = [sql.placeholder('identifier'), sql.placeholder('profileId')];
  const isSubject = or(eq(notices.identifier, identifier), eq(notices.profileId, profileId));
  const earlierAbout = (subject: SQL) =>
    db
      .select({ one: sql`1` })
      .from(earlier)
      .where(
        and(
          subject,
          eq(earlier.recipient, notices.recipient),
          lt(earlier.id, notices.id),
          eq(earlier.result, 'waiting').inlineParams(),
          ne(earlier.kind, 'request'),
        ),
      );
  // While a mail with requests is being sent to this recipient, further requests wait.
  const requestsBeingSent = db
    .select({ one: sql`1` })
    .from(other)
    .where(
      and(
        eq(other.kind, 'request').inlineParams(),
        eq(other.recipient, notices.recipient),
        isNull(other.sentAt),
        eq(other.result, 'waiting').inlineParams(),
        gt(other.tries, 0),
        isPostponed(other.nextTryAt, LEASE_MS, NOW),
      ),
    );
  const isFirst = and(
    notExists(earlierAbout(eq(earlier.identifier, notices.identifier))),
    notExists(earlierAbout(eq(earlier.profileId, notices.profileId))),
  );
  return selectNotices(db)
    .where(
      and(
        isDue(NOW),
        not(IS_FOR_WEBHOOK),
        sql`(${identifier} IS NULL AND ${profileId} IS NULL OR ${isSubject})`,
        or(lte(notices.at, sql`${NOW} - ${MAX_HELD_MS}`), isFirst),
        or(not(IS_REQUEST), notExists(requestsBeingSent)),
        sql`NOT (${notices.kind} = 'reminder' AND ${apiKeys.expiresAt} <= ${NOW} AND NOT ${sql.placeholder('isSettled')})`,
        sql`${LANE} NOT IN (SELECT value FROM json_each(${sql.placeholder('busyLanes')}))`,
      ),
    )
    .orderBy(sql`(${notices.kind} = 'address')`, asc(notices.nextTryAt), asc(notices.id))
    .limit(1)
    .prepare();
});

const waitingRequests = keepQuery((db) =>
  selectNotices(db)
    .where(
      and(
        IS_REQUEST,
        eq(notices.recipient, sql.placeholder('recipient')),
        isNull(notices.sentAt),
        IS_WAITING,
        ne(notices.id, sql.placeholder('id')),
      ),
    )
    .orderBy(asc(notices.id))
    .prepare(),
);

const anyDue = keepQuery((db) =>
  db
    .select({ id: notices.id })
    .from(notices)
    .where(and(isDue(NOW), not(IS_FOR_WEBHOOK)))
    .limit(1)
    .prepare(),
);

/** Whether any mail is due, including delayed ones; takes no lock. */
export function hasDueNotice(db: Db, nowMs: number): boolean {
  return guardDatabase(db.$client.filename, () => anyDue(db).get({ now: nowMs }) !== undefined);
}

/** The subject of notices: a key, or a profile by its id. */
export type NoticeSubject = { identifier: string } | { profileId: number };

/**
 * Which notices may be leased: those about this key or profile, or all if `about` is null; none of the lanes in
 * `busyLanes`, in which a notice is being sent. While the clock is not settled (CONTRIBUTING.md), reminders that seem
 * too late are not leased, since they would end as `moot`.
 */
export type LeaseFilter = { about: NoticeSubject | null; busyLanes: readonly string[]; isSettled: boolean };

/**
 * Leases the notice that is due first; null if there is none. A request is leased with all requests to the same
 * recipient, except those already decided.
 */
export function leaseNotice(db: Db, clock: Pick<Clock, 'nowMs'>, filter: LeaseFilter): LeasedNotice | null {
  const { about, busyLanes, isSettled } = filter;
  const subject = { identifier: null, profileId: null, ...about };
  return write(db, (tx) => {
    const nowMs = clock.nowMs();
    const values = { now: nowMs, ...subject, busyLanes: JSON.stringify(busyLanes), isSettled };
    for (;;) {
      const row = nextNotice(tx).get(values);
      if (row === undefined) return null;
      if (row.kind === 'request' && isDecided(tx, row)) continue;
      lease(tx, row, nowMs);
      return { ...row, together: row.kind === 'request' ? leaseOthers(tx, row, nowMs) : [] };
    }
  });
}

function leaseOthers(tx: Tx, { id, recipient }: NoticeRow, nowMs: number): LeasedNotice[] {
  const pending = waitingRequests(tx)
    .all({ recipient, id })
    .filter((row) => !isDecided(tx, row));
  for (const row of pending) lease(tx, row, nowMs);
  return pending.map((row) => ({ ...row, together: [] }));
}

/** Whether a request has been decided; its notice then ends as `moot`. */
export function isDecided(tx: Tx, { id, key }: NoticeRow): boolean {
  if (key?.state === 'pending') return false;
  tx.update(notices).set({ result: 'moot', fault: null }).where(eq(notices.id, id)).run();
  return true;
}

/** Leases a notice inside a transaction: nobody else sends it until the lease expires. */
export function lease(tx: Tx, { id, tries }: NoticeRow, nowMs: number): void {
  tx.update(notices)
    .set({ tries, nextTryAt: nowMs + LEASE_MS })
    .where(eq(notices.id, id))
    .run();
}
