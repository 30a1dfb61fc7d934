import { and, eq, lte, max, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Tx } from '../db/connect.ts';
import { NOTICE_KINDS, type NoticeKind } from '../db/key-columns.ts';
import { isLive } from '../db/live.ts';
import { keepQuery, placeholders } from '../db/prepared-query.ts';
import { type NoticeAbout, notices } from '../db/schema/notices.ts';
import type { Deps } from '../deps.ts';
import { isMailAddress } from '../mail/address.ts';

/** The minimum time between two mails about requests to one recipient; requests in between share the next mail. */
export const REQUESTS_EVERY_MS = 3_600_000;

/** The recipient that stands for `ADMIN_WEBHOOK_URL`. */
export const WEBHOOK = 'webhook';

/** The kinds that are also sent to the webhook. It is notified of undeliverable mails, too. */
const FOR_WEBHOOK: readonly NoticeKind[] = ['request', 'exposure'];

/** The recipients in the configuration. */
export type NoticeConfig = Pick<Deps['config'], 'adminEmails' | 'adminWebhook'>;

/** A notice about a key, a profile (its id), or neither, for an enrolment. */
export type NewNotice = {
  kind: NoticeKind;
  identifier?: string;
  profileId?: number;
  about: NoticeAbout;
  atMs: number;
};

/**
 * Adds a notice to the outbox, inside the transaction of its cause: one row for the owner or the former address, or one
 * for each address of ADMIN_EMAIL, and one for the webhook. `shared/upkeep/delivery/deliver.ts` composes and sends the
 * mails. Returns the ids of the mails' rows; none for admins if ADMIN_EMAIL is not set.
 */
export function addNotices(
  tx: Tx,
  { adminEmails, adminWebhook }: NoticeConfig,
  { atMs, ...notice }: NewNotice,
): number[] {
  const recipientKind = NOTICE_KINDS[notice.kind];
  const recipients =
    recipientKind === 'admins' ? adminEmails.map((_address, at) => `admin ${at + 1}`) : [recipientKind];
  if (adminWebhook !== null && FOR_WEBHOOK.includes(notice.kind)) {
    tx.insert(notices)
      .values({ ...notice, recipient: WEBHOOK, at: atMs, nextTryAt: atMs })
      .run();
  }
  return recipients.map((recipient) => {
    const nextTryAt = notice.kind === 'request' ? nextMailAbout(tx, recipient, atMs) : atMs;
    const row = { ...notice, recipient, at: atMs, nextTryAt };
    return tx.insert(notices).values(row).returning({ id: notices.id }).get().id;
  });
}

/**
 * Notifies the webhook, if any, of an undeliverable mail, inside the transaction that abandons it. The mail is about a
 * key or a profile (its id).
 */
export function addFailureNotice(
  tx: Tx,
  { adminWebhook }: NoticeConfig,
  mail: { kind: NoticeKind; identifier: string | null; uid: number | null; to: string; atMs: number },
): void {
  if (adminWebhook === null) return;
  const { uid: profileId, to: undeliveredTo, atMs, ...about } = mail;
  const row = { ...about, profileId, recipient: WEBHOOK, about: { undeliveredTo }, at: atMs, nextTryAt: atMs };
  tx.insert(notices).values(row).run();
}

/** The earliest time of the next mail about requests to a recipient: now, or an hour after the last one. */
function nextMailAbout(tx: Tx, recipient: string, nowMs: number): number {
  // Times in the future were stored before the clock was set back.
  const last = tx
    .select({ at: max(notices.sentAt) })
    .from(notices)
    // The kind is part of the partial index's condition.
    .where(
      and(eq(notices.kind, 'request').inlineParams(), eq(notices.recipient, recipient), lte(notices.sentAt, nowMs)),
    )
    .get()?.at;
  return Math.max(nowMs, (last ?? Number.NEGATIVE_INFINITY) + REQUESTS_EVERY_MS);
}

const MAX_PER_DAY = 3;

type ChangeNotice<About> = { profileId: number; about: About; atMs: number };

/**
 * Notifies a profile's former e-mail address of the change, inside the transaction that makes it. Returns the id of the
 * mail's row; null if none was added.
 */
export function addAddressNotice(
  tx: Tx,
  { profileId, formerEmail, atMs }: { profileId: number; formerEmail: string; atMs: number },
): number | null {
  if (!isMailAddress(formerEmail)) return null;
  return addChangeNotice(tx, 'address', { profileId, about: { formerEmail }, atMs });
}

/**
 * Notifies the owner of a ban or an unban, and of the affected Active keys, inside the transaction that stores it.
 * Returns the id of the mail's row; null if none was added.
 */
export function addBanNotice(tx: Tx, notice: ChangeNotice<{ isBanned: boolean; keys: string[] }>): number | null {
  return addChangeNotice(tx, 'ban', notice);
}

/**
 * Adds a notice of a change to a profile: at most {@link MAX_PER_DAY} per day, so that nobody can make the service send
 * many mails, and once for all lines of one transaction, which have the same time.
 */
function addChangeNotice(
  tx: Tx,
  kind: 'address' | 'ban',
  { profileId, about, atMs }: ChangeNotice<NoticeAbout>,
): number | null {
  const recent = recentNotices(tx).all({ profileId, kind, atMs });
  if (recent.length >= MAX_PER_DAY || recent.some(({ at }) => at === atMs)) return null;
  return insertNotice(tx).get({ profileId, kind, recipient: NOTICE_KINDS[kind], about, at: atMs, nextTryAt: atMs }).id;
}

const recentNotices = keepQuery((db) =>
  db
    .select({ at: notices.at })
    .from(notices)
    .where(
      and(
        eq(notices.profileId, sql.placeholder('profileId')),
        eq(notices.kind, sql.placeholder('kind')),
        isLive({ begunAt: notices.at, until: sql`${notices.at} + ${DAY_MS}` }, sql.placeholder('atMs'), 0),
      ),
    )
    .prepare(),
);

const insertNotice = keepQuery((db) =>
  db
    .insert(notices)
    .values(placeholders('profileId', 'kind', 'recipient', 'about', 'at', 'nextTryAt'))
    .returning({ id: notices.id })
    .prepare(),
);
