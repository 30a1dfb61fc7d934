import { DAY_MS, isoTime } from '../clock.ts';
import type { Opened } from '../db/connect.ts';
import { withTables } from '../db/tables.ts';
import { WEBHOOK } from '../outbox/notice.ts';
import { type Undelivered, undeliveredNotices } from '../outbox/undelivered.ts';

/**
 * Undelivered mails without a secret, and webhook messages: how many are waiting, since when, and which were abandoned
 * within 30 days.
 */
export type NoticeStatus = {
  waiting: number;
  oldestAt: string | null;
  /**
   * `to` is `owner`, `former address`, `admin 1` for the first address of ADMIN_EMAIL, or `webhook`; `at` is the time
   * of the event, ISO 8601.
   */
  undelivered: (Omit<Undelivered, 'at' | 'recipient' | 'fault'> & { at: string; to: string; reason: string | null })[];
};

const LISTED_MS = 30 * DAY_MS;

/** Reads the status of mails and webhook messages. */
export function readNoticeStatus(db: Opened, nowMs: number): NoticeStatus {
  return statusOf(undeliveredNotices(withTables(db), nowMs, nowMs - LISTED_MS));
}

/** Reads the status of mails only. */
export function readMailStatus(db: Opened, nowMs: number): NoticeStatus {
  const all = undeliveredNotices(withTables(db), nowMs, nowMs - LISTED_MS);
  return statusOf(all.filter(({ recipient }) => recipient !== WEBHOOK));
}

function statusOf(all: readonly Undelivered[]): NoticeStatus {
  const waiting = all.filter(({ result }) => result === 'waiting');
  return {
    waiting: waiting.length,
    oldestAt: waiting[0] === undefined ? null : isoTime(waiting[0].at),
    undelivered: all.map(({ at, recipient, fault, ...rest }) => ({
      ...rest,
      to: recipient,
      at: isoTime(at),
      reason: fault,
    })),
  };
}

/** Warnings about undelivered notices. */
export function noticeWarnings({ undelivered }: NoticeStatus): string[] {
  const count = undelivered.filter(({ to }) => to !== WEBHOOK).length;
  return [
    ...(count === 0 ? [] : [`${count === 1 ? '1 mail is' : `${count} mails are`} undelivered.`]),
    ...(count === undelivered.length ? [] : ['Some messages to the webhook in ADMIN_WEBHOOK_URL were not delivered.']),
  ];
}
