import { DAY_MS } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { NoticeKind } from '../db/key-columns.ts';
import { changeMail } from '../keys/change-mail.ts';
import { rejectionMail, requestMail, revocationMail } from '../keys/mails.ts';
import type { Mail } from '../mail/mail.ts';
import { reminderMail } from './reminder-mail.ts';
import { isStepAhead } from './reminders.ts';
import type { Claimed } from './store.ts';

/** What a notice's mail is written from: its row, its key, its recipient's address and the time at which it is sent. */
export type NoticeNews = Claimed & { to: string; nowMs: number } & Pick<Config, 'publicUrl' | 'contact'>;

/** The mail of each kind of notice; null where what it tells of is no longer so, and nothing is to be sent. */
const MAILS: Record<NoticeKind, (news: NoticeNews) => Mail | null> = {
  // A profile may have been erased between the request and now; its key is not pending then.
  request: (news) => (news.state === 'pending' ? requestMail({ ...news, profile: news.profile ?? '' }) : null),
  rejection: (news) => rejectionMail({ ...news, reason: news.detail?.reason ?? null }),
  revocation: (news) => revocationMail({ ...news, reason: news.detail?.reason ?? null }),
  // What was changed is not known any more where somebody damaged the history.
  change: (news) => (news.detail?.changes === undefined ? null : changeMail({ ...news, changes: news.detail.changes })),
  reminder: composeReminder,
};

/** Writes the mail of a notice; null where what it tells of is no longer so. */
export function noticeMail(news: NoticeNews): Mail | null {
  return MAILS[news.kind](news);
}

function composeReminder(news: NoticeNews): Mail | null {
  const { about, expiresAt, nowMs } = news;
  const isSo = 'stepDays' in about && expiresAt === about.expiresAt && expiresAt > nowMs && news.state === 'Active';
  if (!isSo || news.isBanned) return null;
  // The expiry may have been moved away and back since: the mail about that has named it.
  if (!isStepAhead({ expirySetAt: news.expirySetAt, expiresAt }, about.stepDays)) return null;
  return reminderMail({ ...news, expiresAtMs: expiresAt, daysLeft: Math.ceil((expiresAt - nowMs) / DAY_MS) });
}
