import type { KeyChanges } from '../db/schema/keys.ts';
import { formatRateLimit, type RateLimit } from '../limits/rate-limit.ts';
import type { HistoryView } from './view.ts';

/**
 * What an entry of a key's history tells besides its name: a reason, or what was changed from what to what; empty where it
 * tells no more. Texts that owners and admins typed stand in it unchanged, line ends too, so the caller has to escape it.
 */
export function detailText({ detail, event }: Pick<HistoryView, 'detail' | 'event'>): string {
  if (detail === null) return '';
  if (detail.changes !== undefined) return changesText(detail.changes, detail.successor);
  if (detail.successorOf !== undefined) return `successor of ${detail.successorOf}`;
  if (detail.retiresOldAt !== undefined) return `attempt ${detail.attempt}; the old key ends at ${detail.retiresOldAt}`;
  if (detail.attempt !== undefined && VOIDING.includes(event)) return `attempt ${detail.attempt} voided`;
  if (detail.attempt !== undefined) return attemptText(detail.attempt, detail.reason);
  if (detail.mail !== undefined) return mailText(detail.mail, detail.to, detail.reason);
  if (detail.nameAfter !== undefined) return `"${detail.nameBefore}" → "${detail.nameAfter}"`;
  return detail.reason ?? '';
}

/** The events that make an attempt void which is under way; their detail names it. */
const VOIDING: readonly HistoryView['event'][] = ['address changed', 'profile banned'];

/** Without a reason where an owner looks, who is not told what the mail server said. */
function attemptText(attempt: number, reason: string | undefined): string {
  return reason === undefined ? `attempt ${attempt}` : `attempt ${attempt}: ${reason}`;
}

/** Without recipient and reason where an owner looks, who is told only which mail it was. */
function mailText(mail: string, to: string | undefined, reason: string | undefined): string {
  return to === undefined ? mail : `${mail} to ${to}: ${reason}`;
}

function changesText({ permissions, rateLimits, expiresAt }: KeyChanges, successor: string | undefined): string {
  const limits = (list: readonly RateLimit[]) => list.map(formatRateLimit).join(', ');
  const parts = [
    permissions && `${permissions.from.join(', ')} → ${permissions.to.join(', ')}`,
    rateLimits && `${limits(rateLimits.from)} → ${limits(rateLimits.to)}`,
    expiresAt && `expires ${expiresAt.from ?? 'never'} → ${expiresAt.to ?? 'never'}`,
    successor && `for its successor ${successor}`,
  ];
  return parts.filter(Boolean).join('; ');
}
