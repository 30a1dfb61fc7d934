import { and, asc, eq, gt, isNull, lt, lte, ne, not, notExists, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import type { Clock } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { notices } from '../db/schema/notices.ts';
import { write } from '../db/write.ts';
import { HELD_UP_MS, LEASE_MS } from './retry-policy.ts';
import { IS_FOR_WEBHOOK, IS_REQUEST, IS_WAITING, isDue, LANE, type NoticeRow, selectNotices } from './rows.ts';

// Whoever sends a notice claims it first, which puts its next try off for a lease, so that two processes never send the same
// one at once. Times are milliseconds since 1970. Both functions throw `busy` where another process holds the lock, and
// `refused` where the file can't be written.

/**
 * A notice that is claimed for sending, with what is known at this moment of its key and its profile. `together` are other
 * notices that are claimed with this one and go out in the same mail or message: requests to the same recipient, or all that
 * the webhook is to be told.
 */
export type LeasedNotice = NoticeRow & { together: LeasedNotice[] };

const earlier = alias(notices, 'earlier');
const other = alias(notices, 'other');

const NOW = sql.placeholder('now');

const nextNotice = keepQuery((db) => {
  const identifier = sql.placeholder('identifier');
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
  // A mail with requests to the same recipient is on its way now, and others wait for its end.
  const gathering = db
    .select({ one: sql`1` })
    .from(other)
    .where(
      and(
        eq(other.kind, 'request').inlineParams(),
        eq(other.recipient, notices.recipient),
        isNull(other.sentAt),
        eq(other.result, 'waiting').inlineParams(),
        gt(other.tries, 0),
        gt(other.nextTryAt, NOW),
        lte(other.nextTryAt, sql`${NOW} + ${LEASE_MS}`),
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
        sql`(${identifier} IS NULL OR ${notices.identifier} = ${identifier})`,
        or(lte(notices.at, sql`${NOW} - ${HELD_UP_MS}`), isFirst),
        or(not(IS_REQUEST), notExists(gathering)),
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

/** Whether any mail is due, held up ones included; takes no lock. */
export function hasDueNotice(db: Db, nowMs: number): boolean {
  return guardDatabase(db.$client.filename, () => anyDue(db).get({ now: nowMs }) !== undefined);
}

/**
 * Which notices are claimed: of all keys or, where one is named, of this one; none of the lanes in which one is being sent.
 * While the clock is not settled, no reminder is claimed that seems to be too late, since it would be given up as `moot`.
 */
export type LeaseFilter = { identifier: string | null; busyLanes: readonly string[]; isSettled: boolean };

/**
 * Claims the notice that is due first; null where none is. With a request it claims all
 * requests that the same recipient is to be told of; those that were decided meanwhile are not sent any more.
 */
export function leaseNotice(db: Db, clock: Pick<Clock, 'nowMs'>, claimable: LeaseFilter): LeasedNotice | null {
  const { identifier, busyLanes, isSettled } = claimable;
  return write(db, (tx) => {
    const nowMs = clock.nowMs();
    const values = { now: nowMs, identifier, busyLanes: JSON.stringify(busyLanes), isSettled };
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

/** Whether a request was decided meanwhile; then nobody is to be told of it any more, which is stored. */
export function isDecided(tx: Tx, { id, key }: NoticeRow): boolean {
  if (key?.state === 'pending') return false;
  tx.update(notices).set({ result: 'moot', fault: null }).where(eq(notices.id, id)).run();
  return true;
}

/** Claims a notice: nobody else tries it before the lease is over. For a transaction. */
export function lease(tx: Tx, { id, tries }: NoticeRow, nowMs: number): void {
  tx.update(notices)
    .set({ tries, nextTryAt: nowMs + LEASE_MS })
    .where(eq(notices.id, id))
    .run();
}
