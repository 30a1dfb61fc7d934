import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import script from './attempt.browser.js' with { type: 'text' };
import { timeText } from './time.ts';
import { userText } from './user-text.ts';

/** The status of the latest attempt to approve a key, for admins, and the scripts that keep it up to date. */
export type ShownAttempt = { body: Html; scripts: readonly string[] };

/** The scripts that keep elements with `data-result="open"` up to date until they are no longer open. */
export const LOOK_SCRIPTS: readonly string[] = [script];

/** How long the outcome of an attempt stays on the page of a key that is no longer pending; then only its history has it. */
const SHOWN_MS = 60 * 60_000;

/**
 * The status of the latest attempt to approve a key, from the database alone. `path` is that of the key's page. Screen readers
 * announce changes; the success of a key that works is visually hidden, because its state says so.
 */
export function attemptStatus(
  key: KeyView,
  history: readonly HistoryView[],
  { path, nowMs }: { path: string; nowMs: number },
): ShownAttempt {
  const { attempt, state } = key;
  const result = attempt?.result ?? 'none';
  const end = attempt === null ? undefined : endOf(history, attempt.number);
  const isPast = state !== 'pending' && end !== undefined && nowMs - Date.parse(end.at) >= SHOWN_MS;
  const words = attempt === null || isPast ? null : attemptInWords(key, attempt, history);
  const again = result === 'open' ? html` <a href="${path}">Look again</a>` : '';
  const text = words === null ? '' : html`<p class="${LOOKS[result] ?? 'summary'}">${words}${again}</p>`;
  return {
    body: html`<div id="attempt" role="status" data-result="${result}">${text}</div>`,
    scripts: result === 'open' ? LOOK_SCRIPTS : [],
  };
}

const LOOKS: Readonly<Record<string, string>> = { open: 'note', accepted: 'unseen' };

/** The outcome of the latest attempt to approve a key, as sentences; null if there is nothing left to say. */
export function attemptInWords(
  key: KeyView,
  { number, by, startedAt, result }: NonNullable<KeyView['attempt']>,
  history: readonly HistoryView[],
): Html | null {
  const isPending = key.state === 'pending';
  const begun = html`On ${timeText(Date.parse(startedAt))} ${by} approved it`;
  const end = endOf(history, number);
  const reason = CLOSINGS.includes(end?.event ?? '') ? end?.detail?.reason : undefined;
  const because = reason === undefined ? '' : html` ${userText(reason)}`;
  if (result === 'open') {
    return html`${begun}. The e-mail with the secret is being sent, which may take a minute.`;
  }
  if (result === 'accepted') {
    return key.state === 'Active' ? html`${begun}, and the e-mail with the secret was accepted: the key works.` : null;
  }
  if (result === 'refused') {
    return html`${begun}, but the e-mail with the secret was refused.${because}${isPending ? ' The request is still pending.' : ''}`;
  }
  if (result === 'not confirmed') {
    return html`${begun}, but it is not known whether the e-mail with the secret was delivered.${because} If it arrives, the secret in it will never work.${isPending ? ' Approve it again to send a new one.' : ''}`;
  }
  return html`${begun}. While the e-mail with the secret was on its way, ${otherwise(end)}. If that e-mail arrives, the secret in it will never work.`;
}

/** The events that close an attempt whose e-mail was not accepted. */
const CLOSINGS: readonly string[] = ['approval refused', 'approval not confirmed'];

/** The entry with which an attempt ended: the first after its start that closed it, made the key Active or voided it. */
function endOf(history: readonly HistoryView[], number: number): HistoryView | undefined {
  const begin = history.findIndex(({ event, detail }) => event === 'approval started' && detail?.attempt === number);
  const isEnd = ({ event }: HistoryView) =>
    event === 'approved' || CLOSINGS.includes(event) || Object.hasOwn(VOIDING, event);
  return history.slice(begin + 1).find(isEnd);
}

/** What made an attempt void. */
function otherwise(end: HistoryView | undefined): Html {
  const words = VOIDING[end?.event as keyof typeof VOIDING];
  return words === undefined ? html`the decision changed` : html`${words} by ${end?.by ?? ''}`;
}

const VOIDING = {
  rejected: 'the request was rejected',
  withdrawn: 'the request was withdrawn',
  revoked: 'the key was revoked',
  'address changed': 'its owner’s address was changed',
  'profile banned': 'its profile was banned',
} as const;
