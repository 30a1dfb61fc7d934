import { type AttemptOutcome, outcomeOf } from '../../../shared/approval/outcome.ts';
import type { VOIDING_EVENTS } from '../../../shared/keys/key.ts';
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
  const outcome = outcomeOf(key, history);
  const result = outcome?.result ?? 'none';
  const end = outcome?.end;
  const isPast = key.state !== 'pending' && end !== undefined && nowMs - Date.parse(end.at) >= SHOWN_MS;
  const words = outcome === null || isPast ? null : attemptInWords(key, outcome);
  const again = result === 'open' ? html` <a href="${path}">Refresh</a>` : '';
  const text = words === null ? '' : html`<p class="${LOOKS[result] ?? 'summary'}">${words}${again}</p>`;
  return {
    body: html`<div id="attempt" role="status" data-result="${result}">${text}</div>`,
    scripts: result === 'open' ? LOOK_SCRIPTS : [],
  };
}

const LOOKS: Readonly<Record<string, string>> = { open: 'note', accepted: 'unseen' };

/** The outcome of the latest attempt to approve a key, as sentences; null if there is nothing left to say. */
export function attemptInWords({ state }: KeyView, outcome: AttemptOutcome): Html | null {
  const { by, startedAt, result, reason, end } = outcome;
  const isPending = state === 'pending';
  const begun = html`On ${timeText(Date.parse(startedAt))} ${by} approved it`;
  const because = reason === undefined ? '' : html` ${userText(reason)}`;
  if (result === 'open') {
    return html`${begun}. The e-mail with the secret is being sent, which may take a minute.`;
  }
  if (result === 'accepted') {
    return state === 'Active' ? html`${begun}, and the e-mail with the secret was accepted: the key works.` : null;
  }
  if (result === 'refused') {
    return html`${begun}, but the e-mail with the secret was refused.${because}${isPending ? ' The request is still pending.' : ''}`;
  }
  if (result === 'not confirmed') {
    return html`${begun}, but it is not known whether the e-mail with the secret was delivered.${because} If it arrives, the secret in it will never work.${isPending ? ' Approve it again to send a new one.' : ''}`;
  }
  const what =
    end === undefined
      ? html`the decision changed`
      : html`${VOIDED_BY[end.event as keyof typeof VOIDED_BY]} by ${end.by}`;
  return html`${begun}. While the e-mail with the secret was on its way, ${what}. If that e-mail arrives, the secret in it will never work.`;
}

const VOIDED_BY: Readonly<Record<(typeof VOIDING_EVENTS)[number], string>> = {
  rejected: 'the request was rejected',
  withdrawn: 'the request was withdrawn',
  'address changed': 'its owner’s address was changed',
  'profile banned': 'its profile was banned',
};
