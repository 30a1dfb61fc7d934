import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import script from './attempt.browser.js' with { type: 'text' };
import { timeText } from './time.ts';
import { userText } from './user-text.ts';

/** The status of the latest attempt to approve a key, for admins, and the scripts that keep it up to date. */
export type ShownAttempt = { body: Html; scripts: readonly string[] };

/** The scripts that keep elements with `data-result="open"` up to date until they are no longer open. */
export const LOOK_SCRIPTS: readonly string[] = [script];

/**
 * The status of the latest attempt to approve a key, from the database alone. `path` is that of the key's page. Screen readers
 * announce changes; the success of a key that works is visually hidden, because its state says so.
 */
export function attemptStatus(key: KeyView, history: readonly HistoryView[], path: string): ShownAttempt {
  const { attempt } = key;
  const result = attempt?.result ?? 'none';
  const words = attempt === null ? null : attemptInWords(key, attempt, history);
  const again = result === 'open' ? html` <a href="${path}">Refresh</a>` : '';
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
  const reason = history.find(({ event, detail }) => CLOSINGS.includes(event) && detail?.attempt === number)?.detail
    ?.reason;
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
  return html`${begun}. While the e-mail with the secret was on its way, ${otherwise(history, number)}. If that e-mail arrives, the secret in it will never work.`;
}

const CLOSINGS: readonly string[] = ['approval refused', 'approval not confirmed'];

/** What made an attempt void: the first such entry after its start. */
function otherwise(history: readonly HistoryView[], number: number): Html {
  const begin = history.findIndex(({ event, detail }) => event === 'approval started' && detail?.attempt === number);
  const voiding = history.slice(begin + 1).find(({ event }) => Object.hasOwn(VOIDING, event));
  if (voiding === undefined) return html`the decision changed`;
  return html`${VOIDING[voiding.event as keyof typeof VOIDING]} by ${voiding.by}`;
}

const VOIDING = {
  rejected: 'the request was rejected',
  withdrawn: 'the request was withdrawn',
  revoked: 'the key was revoked',
  'address changed': 'its owner’s address was changed',
  'profile banned': 'its profile was banned',
} as const;
