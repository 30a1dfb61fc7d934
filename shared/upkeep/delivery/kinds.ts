import { DAY_MS } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { adminPages, ownerPages } from '../../config/pages.ts';
import type { NoticeKind } from '../../db/key-columns.ts';
import type { Mail } from '../../mail/mail.ts';
import { exposureMail, requestMail, requestsMail, type WaitingRequest } from '../../mail-texts/admin-mails.ts';
import { changeMail } from '../../mail-texts/change-mail.ts';
import type { Paged, ServiceInfo } from '../../mail-texts/compose.ts';
import { rejectionMail, revocationMail } from '../../mail-texts/mails.ts';
import { renamingMail, submissionMail } from '../../mail-texts/owner-mails.ts';
import { addressMail, banMail, enrolmentMail, newSignInMail } from '../../mail-texts/people-mails.ts';
import { reminderMail } from '../../mail-texts/reminder-mail.ts';
import { resumptionMail, suspensionMail } from '../../mail-texts/suspension-mails.ts';
import type { LeasedNotice } from '../../outbox/lease.ts';
import { isStepAhead } from '../../outbox/reminders.ts';
import type { NoticeKey } from '../../outbox/rows.ts';

/**
 * A notice mail's recipient, the time at which it is sent (milliseconds since 1970), and the configuration that it
 * quotes.
 */
export type Sent = {
  to: string;
  nowMs: number;
  config: Pick<Config, 'publicName' | 'publicUrl' | 'contact' | 'developerPlatform' | 'mail'>;
};

/** The data of every mail: the recipient, the URLs of the service and its pages, and the time of the event. */
type Common = { to: string; nowMs: number; atMs: number; publicUrl: string } & ServiceInfo & Paged;

/** Composes the mail about a key; null if the event no longer applies, so that nothing is sent. */
type OfKey = (key: NoticeKey, leased: LeasedNotice, common: Common) => Mail | null;

const ABOUT_KEYS: Partial<Record<NoticeKind, OfKey>> = {
  request: composeRequest,
  rejection: (key, { detail }, common) => rejectionMail({ ...common, ...key, reason: detail?.reason ?? null }),
  suspension: (key, { detail }, common) => suspensionMail({ ...common, ...key, reason: detail?.reason ?? null }),
  resumption: (key, { isBanned }, common) => resumptionMail({ ...common, ...key, isBanned }),
  revocation: (key, { detail, byKind }, common) =>
    revocationMail({ ...common, ...key, reason: detail?.reason ?? null, isOwnDoing: byKind === 'owner' }),
  // The changes are unknown if the history is damaged.
  change: (key, { detail }, common) =>
    detail?.changes === undefined ? null : changeMail({ ...common, ...key, changes: detail.changes }),
  reminder: composeReminder,
  submission: (key, _leased, common) => submissionMail({ ...common, ...key }),
  renaming: (key, { detail }, common) =>
    detail?.nameBefore === undefined || detail.nameAfter === undefined
      ? null
      : renamingMail({ ...common, ...key, nameBefore: detail.nameBefore, nameAfter: detail.nameAfter }),
  exposure: (key, { profile }, common) => exposureMail({ ...common, ...key, profile }),
};

/** Composes the mail of a notice; null if the event no longer applies. */
export function noticeMail(leased: LeasedNotice, { to, nowMs, config }: Sent): Mail | null {
  const { key, kind, about, at, profile, recipient, isBanned } = leased;
  const { publicName, publicUrl, contact } = config;
  const pages = recipient.startsWith('admin') ? adminPages(config) : ownerPages(config);
  const common = { to, nowMs, atMs: at, publicName, publicUrl, contact, pages };
  if (key !== null) return ABOUT_KEYS[kind]?.(key, leased, common) ?? null;
  if ('admin' in about) return enrolmentMail({ ...common, ...about });
  if (profile === null) return null;
  if ('agent' in about) return newSignInMail({ ...common, ...about, profile });
  if ('formerEmail' in about) return addressMail({ ...common, profile });
  return 'isBanned' in about && about.isBanned === isBanned ? banMail({ ...common, ...about, profile }) : null;
}

function composeRequest(key: NoticeKey, leased: LeasedNotice, common: Common): Mail {
  const all = [leased, ...leased.together].toSorted((one, other) => one.id - other.id);
  const requests = all.flatMap((one): WaitingRequest[] =>
    one.key === null ? [] : [{ ...one.key, profile: one.profile ?? '' }],
  );
  if (requests.length > 1) return requestsMail({ ...common, requests });
  return requestMail({ ...common, ...key, profile: leased.profile ?? '' });
}

function composeReminder(key: NoticeKey, { about, isBanned }: LeasedNotice, common: Common): Mail | null {
  const { expiresAt, state, expirySetAt } = key;
  const { nowMs } = common;
  const isCurrent = 'stepDays' in about && expiresAt === about.expiresAt && expiresAt > nowMs && state === 'Active';
  if (!isCurrent || isBanned) return null;
  // The expiry may have been changed and changed back since; the mails about those changes named it.
  if (!isStepAhead({ expirySetAt, expiresAt }, about.stepDays)) return null;
  return reminderMail({ ...common, ...key, expiresAtMs: expiresAt, daysLeft: Math.ceil((expiresAt - nowMs) / DAY_MS) });
}
