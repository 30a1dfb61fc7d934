import { and, asc, eq, isNull, lt, lte, ne, not, type SQL, sql } from 'drizzle-orm';
import { SERVICE } from '../../actor.ts';
import type { Clock } from '../../clock.ts';
import type { Db, Tx } from '../../db/connect.ts';
import type { NoticeKind } from '../../db/key-columns.ts';
import { apiKeys } from '../../db/schema/keys.ts';
import { notices } from '../../db/schema/notices.ts';
import { write } from '../../db/write.ts';
import { addEvent } from '../../keys/record.ts';
import type { LeasedNotice } from '../../outbox/lease.ts';
import { addFailureNotice, type NoticeConfig, REQUESTS_EVERY_MS, WEBHOOK } from '../../outbox/notice.ts';
import { FIRST_PAUSE_MS, KEPT_MS, LONGEST_PAUSE_MS, MAX_AGE_MS, WEBHOOK_EVERY_MS } from '../../outbox/retry-policy.ts';
import { IS_FOR_WEBHOOK, IS_REQUEST, IS_WAITING, isDue } from '../../outbox/rows.ts';

// Ends rows of `notices`: after a delivery, or when they are too old. Times are milliseconds since 1970. Functions
// throw `busy` if another process holds the lock, and `refused` if the file can't be written.

/**
 * The result of a delivery. After `failed` it is retried after a pause, `pauseMs` if present; after `refused`, never.
 * `fault` is a whole sentence.
 */
export type Ending =
  | { result: 'accepted' | 'moot' }
  | { result: 'failed' | 'refused'; fault: string; pauseMs?: number };

/** The clock, and the recipients of notifications about undeliverable mails. */
type Keeping<Time extends keyof Clock> = { clock: Pick<Clock, Time>; config: NoticeConfig };

/** Personal data of an ended notice is removed, unless the history of a key contains it anyway. */
const FORGOTTEN = { about: sql`CASE WHEN ${notices.identifier} IS NULL THEN '{}' ELSE ${notices.about} END` };

/**
 * Stores the result of a delivery for all notices that were leased together, unless they have been erased or tried by
 * another process. Afterwards, untried notices of requests wait until an hour after a mail about requests, and the next
 * messages to the webhook for ten seconds.
 */
export function endNotice(db: Db, leased: LeasedNotice, ending: Ending, { clock, config }: Keeping<'nowMs'>): void {
  const { kind, recipient, together } = leased;
  write(db, (tx) => {
    const nowMs = clock.nowMs();
    for (const one of [leased, ...together]) endOne(tx, one, ending, { nowMs, config });
    if (kind !== 'request' || ending.result !== 'accepted' || recipient === WEBHOOK) return;
    tx.update(notices)
      .set({ nextTryAt: nowMs + REQUESTS_EVERY_MS })
      .where(
        and(IS_REQUEST, eq(notices.recipient, recipient), isNull(notices.sentAt), IS_WAITING, eq(notices.tries, 0)),
      )
      .run();
  });
}

function endOne(
  tx: Tx,
  { id, tries, at, recipient }: LeasedNotice,
  ending: Ending,
  { nowMs, config }: { nowMs: number; config: NoticeConfig },
): void {
  const isOurs = and(eq(notices.id, id), eq(notices.tries, tries), IS_WAITING);
  // The webhook receives nothing while any of its notices is not due yet.
  const soonestMs = nowMs + (recipient === WEBHOOK ? WEBHOOK_EVERY_MS : 0);
  if (recipient === WEBHOOK) tx.update(notices).set({ nextTryAt: soonestMs }).where(isOurs).run();
  if (ending.result === 'refused') giveUp(tx, isOurs, { result: 'refused', fault: ending.fault }, nowMs, config);
  else if (ending.result === 'failed') {
    const pauseMs = ending.pauseMs ?? Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
    const nextTryAt = Math.min(nowMs + pauseMs, Math.max(soonestMs, at + MAX_AGE_MS));
    tx.update(notices).set({ nextTryAt, fault: ending.fault }).where(isOurs).run();
  } else {
    const sentAt = ending.result === 'accepted' ? nowMs : null;
    tx.update(notices)
      .set({ result: ending.result, fault: null, sentAt, ...FORGOTTEN })
      .where(isOurs)
      .run();
  }
}

/** A notice that was abandoned: its key or else its profile (an id), and its kind. */
export type Dropped = { identifier: string | null; uid: number | null; kind: NoticeKind };

/**
 * Gives up notices that could not be delivered for three days, which the histories of the keys record, and returns
 * them. Deletes notices that are not about a key and ended long ago. Does nothing while the clock is not settled
 * (CONTRIBUTING.md).
 */
export function dropOldNotices(db: Db, { clock, config }: Keeping<'settledMs'>): Dropped[] {
  if (clock.settledMs() === null) return [];
  const dropped = { result: 'dropped', fault: 'It could not be delivered for three days.' } as const;
  return write(db, (tx) => {
    const settledMs = clock.settledMs();
    if (settledMs === null) return [];
    tx.delete(notices)
      .where(and(isNull(notices.identifier), ne(notices.result, 'waiting'), lt(notices.at, settledMs - KEPT_MS)))
      .run();
    return giveUp(tx, and(isDue(settledMs), lte(notices.at, settledMs - MAX_AGE_MS)), dropped, settledMs, config);
  });
}

/**
 * Gives up all waiting notices in a backup that is being restored, because they may have been sent since, and returns
 * them.
 */
export function dropRestoredNotices(db: Db, clock: Pick<Clock, 'nowMs'>): Dropped[] {
  const dropped = { result: 'dropped', fault: 'It was waiting in a backup that was restored.' } as const;
  return write(db, (tx) => giveUp(tx, IS_WAITING, dropped, clock.nowMs(), null));
}

/**
 * Ends undelivered notices, inside a transaction, and returns the mails among them. The histories of their keys record
 * that, and the webhook is notified unless `config` is null.
 */
function giveUp(
  tx: Tx,
  which: SQL | undefined,
  { result, fault }: { result: 'refused' | 'dropped'; fault: string },
  nowMs: number,
  config: NoticeConfig | null,
): Dropped[] {
  const aboutKeys = tx
    .select({ identifier: apiKeys.identifier, state: apiKeys.state, kind: notices.kind, to: notices.recipient })
    .from(notices)
    .innerJoin(apiKeys, eq(apiKeys.identifier, notices.identifier))
    .where(and(which, not(IS_FOR_WEBHOOK)))
    .orderBy(asc(notices.id))
    .all();
  for (const { identifier, state, kind, to } of aboutKeys) {
    const detail = { mail: kind, to, reason: fault };
    const event = { event: 'mail not delivered', fromState: state, toState: state, detail } as const;
    addEvent(tx, { identifier }, { by: SERVICE, atMs: nowMs }, event);
  }
  const dropped = tx
    .update(notices)
    .set({ result, fault, ...FORGOTTEN })
    .where(which)
    .returning({
      identifier: notices.identifier,
      uid: notices.profileId,
      kind: notices.kind,
      to: notices.recipient,
    })
    .all()
    .filter(({ to }) => to !== WEBHOOK);
  return dropped.map(({ to, ...mail }) => {
    if (config !== null) addFailureNotice(tx, config, { ...mail, to, atMs: nowMs });
    return mail;
  });
}
