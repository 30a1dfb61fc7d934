import { and, eq, gt, lte, max, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Tx } from '../db/connect.ts';
import { NOTICE_KINDS, type NoticeKind } from '../db/key-columns.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { type NoticeAbout, notices } from '../db/schema/notices.ts';
import type { Deps } from '../deps.ts';
import { isMailAddress } from '../mail/address.ts';

/** ADMIN_EMAIL is told of requests at most so often, in milliseconds; what comes meanwhile is told together. */
export const REQUESTS_EVERY_MS = 3_600_000;

/** The recipient for which `ADMIN_WEBHOOK_URL` stands. */
export const WEBHOOK = 'webhook';

/** The kinds that the webhook is told of too; it is also told of every mail that can't be delivered. */
const FOR_WEBHOOK: readonly NoticeKind[] = ['request', 'exposure'];

/** What of the configuration says who is told. */
export type NoticeConfig = Pick<Deps['config'], 'adminEmails' | 'adminWebhook'>;

/** What somebody is to be told, and which key or profile it is about (the profile's id); an enrolment is about neither. */
export type NewNotice = {
  kind: NoticeKind;
  identifier?: string;
  profileId?: number;
  about: NoticeAbout;
  atMs: number;
};

/**
 * Stores that somebody is to be told something, inside the transaction that makes it true: one row for the owner or for
 * the address that the profile had before, or one for each address of ADMIN_EMAIL, and one for the webhook of the admins.
 * `shared/upkeep/delivery/deliver.ts` writes and sends them. Returns the ids of the mails' rows; none where ADMIN_EMAIL is not set.
 */
export function addNotices(
  tx: Tx,
  { adminEmails, adminWebhook }: NoticeConfig,
  { atMs, ...notice }: NewNotice,
): number[] {
  const whom = NOTICE_KINDS[notice.kind];
  const recipients = whom === 'admins' ? adminEmails.map((_address, at) => `admin ${at + 1}`) : [whom];
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
 * Stores that the webhook is to be told, if there is one, that a mail of this kind could not be delivered to a recipient,
 * inside the transaction that gives it up: about which key or else which profile (its id).
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

/** When a recipient may be told of a request: now, or an hour after the last mail about requests. */
function nextMailAbout(tx: Tx, recipient: string, nowMs: number): number {
  // A time that has not come yet was stored before the clock was set back.
  const last = tx
    .select({ at: max(notices.sentAt) })
    .from(notices)
    // The index of requests has their kind in its condition.
    .where(
      and(eq(notices.kind, 'request').inlineParams(), eq(notices.recipient, recipient), lte(notices.sentAt, nowMs)),
    )
    .get()?.at;
  return Math.max(nowMs, (last ?? Number.NEGATIVE_INFINITY) + REQUESTS_EVERY_MS);
}

/** The most mails of one kind about changes of one profile within a day. */
const MAX_PER_DAY = 3;

type ChangeNotice<About> = { profileId: number; about: About; atMs: number };

/**
 * Stores that the address which a profile had is to be told that it has another one, inside the transaction that changes it.
 */
export function addAddressNotice(
  tx: Tx,
  { profileId, formerEmail, atMs }: { profileId: number; formerEmail: string; atMs: number },
): void {
  if (isMailAddress(formerEmail)) addChangeNotice(tx, 'address', { profileId, about: { formerEmail }, atMs });
}

/**
 * Stores that the owner is to be told that the profile was banned or its ban lifted, and which Active keys it has, inside
 * the transaction that does so.
 */
export function addBanNotice(tx: Tx, notice: ChangeNotice<{ isBanned: boolean; keys: string[] }>): void {
  addChangeNotice(tx, 'ban', notice);
}

/**
 * Stores a notice of a change of a profile. Not more often than some times a day, so that nobody can make the service write
 * any number of mails; and once for all lines that one transaction applies, which have the same time.
 */
function addChangeNotice(tx: Tx, kind: 'address' | 'ban', { profileId, about, atMs }: ChangeNotice<NoticeAbout>): void {
  const recent = recentNotices(tx).all({ profileId, kind, after: atMs - DAY_MS, until: atMs });
  if (recent.length >= MAX_PER_DAY || recent.some(({ at }) => at === atMs)) return;
  additionOf(tx).run({ profileId, kind, recipient: NOTICE_KINDS[kind], about, at: atMs });
}

const recentNotices = keepQuery((db) =>
  db
    .select({ at: notices.at })
    .from(notices)
    .where(
      and(
        eq(notices.profileId, sql.placeholder('profileId')),
        eq(notices.kind, sql.placeholder('kind')),
        gt(notices.at, sql.placeholder('after')),
        lte(notices.at, sql.placeholder('until')),
      ),
    )
    .prepare(),
);

const additionOf = keepQuery((db) =>
  db
    .insert(notices)
    .values({
      profileId: sql.placeholder('profileId'),
      kind: sql.placeholder('kind'),
      recipient: sql.placeholder('recipient'),
      about: sql.placeholder('about'),
      at: sql.placeholder('at'),
      nextTryAt: sql.placeholder('at'),
    })
    .prepare(),
);
