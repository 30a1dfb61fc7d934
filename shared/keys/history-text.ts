import type { KeyEventName } from '../db/key-columns.ts';
import type { KeyChanges, KeyEventDetail } from '../db/schema/keys.ts';
import { formatRateLimit, type RateLimit } from '../limits/rate-limit.ts';
import type { HistoryView } from './view.ts';

/**
 * What an entry of a key's history tells besides its name: a reason, or what was changed from what to what; empty where it
 * tells no more. Texts that owners and admins typed stand in it unchanged, line ends too, so the caller has to escape it.
 */
export function detailText({ detail, event }: Pick<HistoryView, 'detail' | 'event'>): string {
  if (detail === null) return '';
  if (detail.changes !== undefined) return changesText(detail.changes, detail.successor);
  if (detail.successorOf !== undefined) return `replaces ${detail.successorOf}`;
  if (detail.attempt !== undefined) return attemptText(event, detail.attempt, detail);
  if (detail.mail !== undefined) return mailText(detail.mail, detail.to, detail.reason);
  if (detail.nameAfter !== undefined) return `"${detail.nameBefore}" → "${detail.nameAfter}"`;
  return detail.reason ?? '';
}

/** The events that make an attempt void which is under way; their detail names it. */
const VOIDING: readonly HistoryView['event'][] = ['address changed', 'profile banned'];

/**
 * Only from the second attempt on its number says anything. Without a reason where an owner looks, who is not told what the
 * mail server said.
 */
function attemptText(event: HistoryView['event'], attempt: number, { retiresOldAt, reason }: KeyEventDetail): string {
  const number = attempt === 1 ? [] : [`attempt ${attempt}`];
  if (VOIDING.includes(event)) return `${number[0] ?? 'the approval under way'} voided`;
  if (retiresOldAt !== undefined) return [...number, `the old key ends at ${retiresOldAt}`].join('; ');
  return [...number, ...(reason === undefined ? [] : [reason])].join(': ');
}

/** Without recipient and reason where an owner looks, who is told only which mail it was. */
function mailText(mail: string, to: string | undefined, reason: string | undefined): string {
  return to === undefined ? mail : `${mail} to ${to}: ${reason}`;
}

/** What was changed from what to what; `successor` is the key for whose approval the expiry was changed. */
export function changesText({ permissions, rateLimits, expiresAt }: KeyChanges, successor: string | undefined): string {
  const limits = (list: readonly RateLimit[]) => list.map(formatRateLimit).join(', ');
  const parts = [
    permissions && `${permissions.from.join(', ')} → ${permissions.to.join(', ')}`,
    rateLimits && `${limits(rateLimits.from)} → ${limits(rateLimits.to)}`,
    expiresAt && `expires ${expiresAt.from ?? 'never'} → ${expiresAt.to ?? 'never'}`,
    successor && `for its replacement ${successor}`,
  ];
  return parts.filter(Boolean).join('; ');
}

/** The entries of a history as sentences; an approval is not refused, but the mail that it needs is. */
export const EVENT_WORDS: Readonly<Record<KeyEventName, string>> = {
  requested: 'Requested',
  'approval started': 'Approval started: the secret is being mailed',
  'approval refused': 'The mail with the secret was refused; the request is still pending',
  'approval not confirmed':
    'It is not known whether the mail with the secret was delivered; the request is still pending',
  approved: 'Approved: the mail with the secret was accepted',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
  suspended: 'Suspended: its requests are refused',
  resumed: 'Resumed: the same secret works again',
  revoked: 'Revoked',
  expired: 'Expired',
  edited: 'Renamed',
  changed: 'Changed',
  'address changed': 'The e-mail address of the profile was changed',
  'profile banned': 'The profile was banned: its keys are refused until the ban is lifted',
  'profile unbanned': 'The ban of the profile was lifted: its Active keys work again',
  erased: 'Erased with its profile',
  'mail not delivered': 'A mail about this key was not delivered',
};
