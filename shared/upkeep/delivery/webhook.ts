import { adminPages } from '../../config/pages.ts';
import type { LeasedNotice } from '../../outbox/lease.ts';
import { LONGEST_PAUSE_MS, WEBHOOK_EVERY_MS } from '../../outbox/retry-policy.ts';
import { subjectInWords } from '../../outbox/undelivered.ts';
import type { Sent } from './kinds.ts';
import type { Ending } from './store.ts';

// The messages to ADMIN_WEBHOOK_URL. They contain only fixed words, identifiers and UIDs, so that nothing in them can
// be a mention or markup in a chat. The URL is a secret: sentences never contain any part of it.

const TIMEOUT_MS = 10_000;

/** Statuses after which a message is not retried. */
const PERMANENT_STATUSES: readonly number[] = [401, 404, 410];

/**
 * The message of a notice leased for the webhook: the event, the URL or command for details, and the number of other
 * events.
 */
export function webhookText(leased: LeasedNotice, config: Sent['config']): string {
  const { key, together } = leased;
  const pages = adminPages(config);
  const command = key === null ? 'profilectl status' : `profilectl keys show ${key.identifier}`;
  const page = key === null ? pages : `${pages}/keys/${key.identifier}`;
  return [sentenceOf(leased), pages === null ? command : page, ...othersLine(together)].join('\n');
}

const SUBJECTS = ['request', 'found secret', 'failed delivery'] as const;

function subjectOf({ kind, about }: LeasedNotice): (typeof SUBJECTS)[number] {
  if ('undeliveredTo' in about) return 'failed delivery';
  return kind === 'request' ? 'request' : 'found secret';
}

function sentenceOf(leased: LeasedNotice): string {
  const { about, kind, key, uid } = leased;
  const whose = key === null || uid === null ? '' : ` of profile ${uid}`;
  const subject = `${subjectInWords({ identifier: key?.identifier ?? null, uid })}${whose}`;
  if ('undeliveredTo' in about) {
    const to = about.undeliveredTo.startsWith('admin') ? 'ADMIN_EMAIL' : `the ${about.undeliveredTo}`;
    return `The ${kind} mail to ${to} about ${subject} could not be delivered.`;
  }
  if (kind === 'request') return `A request is waiting for a decision: ${subject}.`;
  return `The secret of ${subject} was found, and the key was revoked.`;
}

function othersLine(others: readonly LeasedNotice[]): string[] {
  const counts = SUBJECTS.flatMap((subject) => {
    const count = others.filter((other) => subjectOf(other) === subject).length;
    if (count === 0) return [];
    const plural = subject === 'failed delivery' ? 'failed deliveries' : `${subject}s`;
    return [`${count} ${count === 1 ? subject : plural}`];
  });
  return counts.length === 0 ? [] : [`Also: ${counts.join(', ')}.`];
}

/**
 * Posts a message to a webhook of Discord, Slack, Mattermost or ntfy, within ten seconds. Follows no redirects, reads only
 * the status and `Retry-After` of the response, and closes the connection. Never throws.
 */
export async function postToWebhook(url: string, text: string, nowMs: number): Promise<Ending> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    const { status, headers } = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ content: text, text, allowed_mentions: { parse: [] } }),
      signal: abort.signal,
    });
    return endingOf(status, pauseOf(headers.get('retry-after'), nowMs));
  } catch (error) {
    // The error's message contains the URL.
    const { code } = error as { code?: unknown };
    const cause = typeof code === 'string' && /^\w{1,50}$/.test(code) ? ` (${code})` : '';
    const late = `did not respond within ${TIMEOUT_MS / 1_000} seconds`;
    return failed(abort.signal.aborted ? late : `can't be reached${cause}; check ADMIN_WEBHOOK_URL and the network`);
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

function failed(what: string, pauseMs: number | null = null): Ending {
  const ending = { result: 'failed', fault: `The webhook ${what}.` } as const;
  return pauseMs === null ? ending : { ...ending, pauseMs };
}

function endingOf(status: number, pauseMs: number | null): Ending {
  if (status >= 200 && status < 300) return { result: 'accepted' };
  if (PERMANENT_STATUSES.includes(status)) {
    return { result: 'refused', fault: `The webhook responded with ${status}; check ADMIN_WEBHOOK_URL.` };
  }
  const isElsewhere = Math.floor(status / 100) === 3;
  const advice = isElsewhere ? ', a redirect, which is not followed; check ADMIN_WEBHOOK_URL' : '';
  return failed(`responded with ${status}${advice}`, pauseMs);
}

/**
 * The pause requested by `Retry-After` (RFC 9110, 10.2.3), in seconds or as a date, in milliseconds within our bounds;
 * null without the header.
 */
function pauseOf(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const requestedMs = /^\d{1,9}(\.\d{1,9})?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(requestedMs) ? null : Math.min(Math.max(requestedMs, WEBHOOK_EVERY_MS), LONGEST_PAUSE_MS);
}
