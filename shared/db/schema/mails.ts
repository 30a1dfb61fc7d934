import { sql } from 'drizzle-orm';
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { apiKeys } from './keys.ts';
import { profiles } from './profiles.ts';

/** The value of `to` that stands for `ADMIN_WEBHOOK_URL`; no address is spelled so. */
export const WEBHOOK = 'webhook';

/** What became of a mail. `refused` for good by the mail server; `dropped` after three days, or by a restore. */
export const MAIL_RESULTS = ['waiting', 'accepted', 'refused', 'dropped'] as const;

export type MailResult = (typeof MAIL_RESULTS)[number];

/**
 * Composed mails without a secret, and posts to the webhook, stored in the transaction that they report
 * (`shared/mail/outbox.ts`). Times are milliseconds since 1970.
 */
export const mails = sqliteTable(
  'mails',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    /** Whom it is about; null if it is about an admin. */
    profileId: integer('profile_id').references(() => profiles.id, { onDelete: 'cascade' }),
    identifier: text().references(() => apiKeys.identifier),
    kind: text().notNull(),
    /** An e-mail address, or {@link WEBHOOK}; null is the profile's address at the time of sending. */
    to: text(),
    subject: text().notNull(),
    body: text().notNull(),
    at: integer().notNull(),
    tries: integer().notNull().default(0),
    nextTryAt: integer('next_try_at').notNull(),
    result: text().$type<MailResult>().notNull().default('waiting'),
    /** Why it is undelivered, as a sentence without addresses. */
    fault: text(),
  },
  (t) => [
    index('mails_profile').on(t.profileId, t.kind, t.at),
    index('mails_waiting').on(sql`(kind = 'address')`, t.nextTryAt).where(sql`result = 'waiting'`),
    index('mails_reminders').on(t.identifier, t.at).where(sql`kind = 'reminder'`),
    check('mails_tries', sql`${t.tries} >= 0`),
    check('mails_result', sql`${t.result} IN ('waiting', 'accepted', 'refused', 'dropped')`),
  ],
);
