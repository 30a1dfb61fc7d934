import { sql } from 'drizzle-orm';
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { NoticeKind, NoticeResult } from '../key-columns.ts';
import { apiKeys } from './keys.ts';
import { profiles } from './profiles.ts';

// Times are milliseconds since 1970 (UTC). JSON columns hold the compact output of JSON.stringify. The SQL adds what
// Drizzle can't express: STRICT, WITHOUT ROWID and triggers.

/**
 * The subject of a notice. About a key: the entry of its history, or the step of a reminder (days before the expiry,
 * and the expiry that the key had then, in milliseconds since 1970). About a profile: the origin of a sign-in, the
 * profile's previous e-mail address, or whether it is now banned and its Active keys. About neither: the admin who
 * enrolled, and the IP address. For the webhook, about a mail that could not be delivered: its recipient. Since it
 * names an address, it is emptied once a notice that is not about a key has ended.
 */
export type NoticeAbout =
  | { event: number }
  | { stepDays: number; expiresAt: number }
  | { address: string; agent: string }
  | { formerEmail: string }
  | { isBanned: boolean; keys: string[] }
  | { admin: string; address: string }
  | { undeliveredTo: string };

/**
 * Mails without a secret and messages to the webhook: one row for each recipient, stored in the same transaction as the
 * event (`shared/outbox/`). A mail is composed and addressed when it is sent: its text and its e-mail address are not
 * stored, except in the `about` of notices that are not about a key. Most are about a key, some about a profile, and
 * the enrolment of an admin is about neither.
 */
export const notices = sqliteTable(
  'notices',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    identifier: text().references(() => apiKeys.identifier),
    profileId: integer('profile_id').references(() => profiles.id, { onDelete: 'cascade' }),
    kind: text().$type<NoticeKind>().notNull(),
    /** `owner`, `former address`, `admin 1` for the first address of ADMIN_EMAIL, or `webhook` for ADMIN_WEBHOOK_URL. */
    recipient: text().notNull(),
    about: text({ mode: 'json' }).$type<NoticeAbout>().notNull(),
    at: integer().notNull(),
    tries: integer().notNull().default(0),
    /**
     * The earliest time of the next attempt: after the pause that follows a failure, or after the lease of an attempt
     * in progress.
     */
    nextTryAt: integer('next_try_at').notNull(),
    result: text().$type<NoticeResult>().notNull().default('waiting'),
    /** Why it is undelivered, as a sentence without addresses; null before the first failure and once accepted. */
    fault: text(),
    /** When the mail server accepted it; null before, and in rows older than this column. */
    sentAt: integer('sent_at'),
  },
  (t) => [
    index('notices_key').on(t.identifier, t.recipient, t.id),
    index('notices_profile').on(t.profileId, t.recipient, t.id),
    // Mails about changed e-mail addresses are sent last, since one import may change very many.
    index('notices_waiting').on(sql`(kind = 'address')`, t.nextTryAt).where(sql`result = 'waiting'`),
    index('notices_requests').on(t.recipient, t.sentAt).where(sql`kind = 'request'`),
    index('notices_webhook').on(t.result, t.nextTryAt).where(sql`recipient = 'webhook'`),
    check('notices_tries', sql`${t.tries} >= 0`),
    check('notices_result', sql`${t.result} IN ('waiting', 'accepted', 'refused', 'dropped', 'moot')`),
    check(
      'notices_subject',
      sql`(${t.identifier} IS NOT NULL) + (${t.profileId} IS NOT NULL) = (${t.kind} <> 'enrolment')`,
    ),
  ],
);
