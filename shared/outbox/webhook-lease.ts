import { and, asc, eq, inArray, notExists, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import type { Clock } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { isPostponed } from '../db/live.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { notices } from '../db/schema/notices.ts';
import { write } from '../db/write.ts';
import { isDecided, type LeasedNotice, lease } from './lease.ts';
import { WEBHOOK } from './notice.ts';
import { LONGEST_PAUSE_MS } from './retry-policy.ts';
import { IS_FOR_WEBHOOK, IS_WAITING, selectNotices } from './rows.ts';

// All notices for the webhook are leased at once and sent as one message. Times are milliseconds since 1970. Functions throw
// `refused` if the file can't be written.

const MAX_TOGETHER = 1_000;

const waitingForWebhook = keepQuery((db) =>
  selectNotices(db).where(and(IS_FOR_WEBHOOK, IS_WAITING)).orderBy(asc(notices.id)).limit(MAX_TOGETHER).prepare(),
);

// Nothing is sent to the webhook while another message is being sent, in the pause after a failure, and shortly after a
// message.
const held = alias(notices, 'held');
const webhookDue = keepQuery((db) => {
  const hold = db
    .select({ one: sql`1` })
    .from(held)
    .where(
      and(
        eq(held.recipient, WEBHOOK).inlineParams(),
        inArray(held.result, ['waiting', 'accepted', 'refused']).inlineParams(),
        isPostponed(held.nextTryAt, LONGEST_PAUSE_MS, sql.placeholder('now')),
      ),
    );
  return db
    .select({ id: notices.id })
    .from(notices)
    .where(and(IS_FOR_WEBHOOK, IS_WAITING, notExists(hold)))
    .limit(1)
    .prepare();
});

/** Whether a message to the webhook is due; takes no lock. */
export function isWebhookDue(db: Db | Tx, nowMs: number): boolean {
  return guardDatabase(db.$client.filename, () => webhookDue(db).get({ now: nowMs }) !== undefined);
}

/**
 * Leases the notices of the next message to the webhook; null if there are none, or it has to wait. Requests that have
 * been decided are left out.
 */
export function leaseForWebhook(db: Db, clock: Pick<Clock, 'nowMs'>): LeasedNotice | null {
  // First checked without the lock, because usually nothing is due.
  if (!isWebhookDue(db, clock.nowMs())) return null;
  return write(db, (tx) => {
    const nowMs = clock.nowMs();
    if (!isWebhookDue(tx, nowMs)) return null;
    const waiting = waitingForWebhook(tx).all();
    const rows = waiting.filter((row) => row.kind !== 'request' || 'undeliveredTo' in row.about || !isDecided(tx, row));
    for (const row of rows) lease(tx, row, nowMs);
    const [first, ...others] = rows.map((row): LeasedNotice => ({ ...row, together: [] }));
    return first === undefined ? null : { ...first, together: others };
  });
}
