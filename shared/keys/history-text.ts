import type { KeyEventName } from '../db/key-columns.ts';
import type { KeyChanges, KeyEventDetail } from '../db/schema/keys.ts';
import { formatRateLimit, type RateLimit } from '../limits/rate-limit.ts';
import { VOIDING_CHANGES } from './key.ts';
import type { HistoryView } from './view.ts';

/**
 * The details of an entry of a key's history: a reason, or the old and new values of a change; empty if there are none. The
 * caller has to escape it: texts of owners and admins are included unchanged, with line breaks.
 */
export function detailText({ detail, event }: Pick<HistoryView, 'detail' | 'event'>): string {
  if (detail === null) return '';
  if (detail.changes !== undefined) return changesText(detail.changes, detail.successor);
  if (detail.successorOf !== undefined) return `replaces ${detail.successorOf}`;
  if (detail.attempt !== undefined) return attemptText(event, detail.attempt, detail);
  if (detail.nameAfter !== undefined) return `"${detail.nameBefore}" → "${detail.nameAfter}"`;
  return detail.reason ?? '';
}

// The number is shown from the second attempt on. For owners there is no reason, since it is the mail server's response.
function attemptText(event: HistoryView['event'], attempt: number, { retiresOldAt, reason }: KeyEventDetail): string {
  const number = attempt === 1 ? [] : [`attempt ${attempt}`];
  if (VOIDING_CHANGES.some((change) => change === event)) return `${number[0] ?? 'the approval under way'} voided`;
  if (retiresOldAt !== undefined) return [...number, `the old key expires at ${retiresOldAt}`].join('; ');
  return [...number, ...(reason === undefined ? [] : [reason])].join(': ');
}

/** The old and new values of a change; `successor` is the key whose approval changed the expiry. */
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

/** The words for each event. */
export const EVENT_WORDS: Readonly<Record<KeyEventName, string>> = {
  requested: 'Requested',
  'approval started': 'Approval started: the secret is being mailed',
  'approval refused': 'The e-mail with the secret was refused; the request is still pending',
  'approval not confirmed':
    'It is not known whether the e-mail with the secret was delivered; the request is still pending',
  approved: 'Approved: the e-mail with the secret was accepted',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
  suspended: 'Suspended: its requests are refused',
  resumed: 'Resumed: the same secret works again',
  revoked: 'Revoked',
  edited: 'Renamed',
  changed: 'Changed',
  'address changed': 'The e-mail address of the profile was changed',
  'profile banned': 'The profile was banned: its keys are refused until the ban is lifted',
  'profile unbanned': 'The ban of the profile was lifted: its Active keys work again',
  erased: 'Erased with its profile',
};
