import { and, asc, eq, gt, lte, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { apiKeys, events, mails, profiles } from '../db/schema.ts';
import { write } from '../db/write.ts';
import { type MailConfig, readKeyNews, storeMail } from './outbox.ts';
import { reminderMail } from './texts.ts';

// Mails that are sent because time has passed: `storeReminders` stores them, which a server calls each hour. That one was sent is
// known for 30 days, as long as mails are kept.

/** How long before a key's expiry its owner is reminded. */
const REMINDED_MS = 14 * DAY_MS;

/** When the key's expiry was set: by the latest change or by its approval. */
const EXPIRY_SET_AT = sql<number>`coalesce(
  (SELECT max(${events.at}) FROM ${events}
    WHERE ${events.about} = ${apiKeys.identifier} AND ${events.subject} = 'key' AND ${events.event} = 'changed'
      AND CASE WHEN json_valid(${events.data}) THEN ${events.data} ->> '$.changes.expiresAt.to' END IS NOT NULL),
  ${apiKeys.decidedAt}, 0)`;

/** How many reminders one step stores at most: composing one takes half a millisecond or more. */
const MAX_PER_STEP = 20;

/**
 * Stores a reminder for each Active key that expires within 14 days, once for an expiry, and none if the expiry was set
 * later than that, because the mail about it is sufficient. Keys of banned profiles and of those without an address are
 * skipped until that changes. Returns whether more may be due.
 */
export function storeReminders(db: Db, atMs: number, config: MailConfig): boolean {
  const beganAt = sql`${apiKeys.expiresAt} - ${REMINDED_MS}`;
  const isReminded = sql`EXISTS (SELECT 1 FROM ${mails} WHERE ${mails.identifier} = ${apiKeys.identifier}
    AND ${mails.kind} = 'reminder' AND ${mails.at} >= ${beganAt})`;
  const due = db
    .select({ identifier: apiKeys.identifier, expiresAt: apiKeys.expiresAt })
    .from(apiKeys)
    .innerJoin(profiles, eq(profiles.id, apiKeys.profileId))
    .where(
      and(
        eq(apiKeys.state, 'Active'),
        gt(apiKeys.expiresAt, atMs),
        lte(apiKeys.expiresAt, atMs + REMINDED_MS),
        eq(profiles.banned, false),
        sql`${profiles.email} IS NOT NULL`,
        sql`${EXPIRY_SET_AT} < ${beganAt}`,
        sql`NOT ${isReminded}`,
      ),
    )
    .orderBy(asc(apiKeys.expiresAt));
  if (due.limit(1).get() === undefined) return false;
  return write(db, (tx) => {
    const some = due.limit(MAX_PER_STEP).all();
    for (const { identifier, expiresAt } of some) {
      const news = readKeyNews(tx, config, identifier, { atMs });
      const expiresAtMs = expiresAt ?? atMs;
      const daysLeft = Math.ceil((expiresAtMs - atMs) / DAY_MS);
      const text = reminderMail({ ...news, expiresAtMs, daysLeft });
      storeMail(tx, text, { profileId: news.profileId, to: null }, { atMs });
    }
    return some.length === MAX_PER_STEP;
  });
}
