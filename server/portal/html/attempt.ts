import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import script from './attempt.browser.js' with { type: 'text' };
import { timeText } from './time.ts';
import { written } from './user-text.ts';

/** What admins are shown of the latest try to approve a key, and the scripts that keep it up to date. */
export type ShownAttempt = { body: Html; scripts: readonly string[] };

/**
 * How the latest try to approve a key goes or went, from the database alone. `path` is that of the key's page, to look again;
 * `id` is that of the element. What changes while it is shown is read out.
 */
export function attemptStatus(
  key: KeyView,
  history: readonly HistoryView[],
  path: string,
  id: 'attempt' | 'decided' = 'attempt',
): ShownAttempt {
  const { attempt } = key;
  const isOpen = attempt?.result === 'open';
  const text = attempt === null ? html`` : wordsOf(key, attempt, history, path);
  return {
    body: html`<div id="${id}" role="status" data-result="${attempt?.result ?? 'none'}">${text}</div>`,
    scripts: isOpen ? [script] : [],
  };
}

function wordsOf(
  key: KeyView,
  { number, by, startedAt, result }: NonNullable<KeyView['attempt']>,
  history: readonly HistoryView[],
  path: string,
): Html {
  const isPending = key.state === 'pending';
  const begun = html`On ${timeText(Date.parse(startedAt))} ${by} approved it`;
  const reason = history.find(({ event, detail }) => CLOSINGS.includes(event) && detail?.attempt === number)?.detail
    ?.reason;
  const because = reason === undefined ? '' : html` ${written(reason)}`;
  if (result === 'open') {
    return html`<p class="note">${begun}. The mail with the secret is being sent, which may take a minute. <a href="${path}">Look again</a></p>`;
  }
  if (result === 'accepted') {
    return key.state === 'Active'
      ? html`<p class="flash">${begun}, and the mail with the secret was accepted: the key works.</p>`
      : html``;
  }
  if (result === 'refused') {
    return html`<p class="summary">${begun}, but the mail with the secret was not accepted.${because}${isPending ? ' The key is pending as before.' : ''}</p>`;
  }
  if (result === 'not confirmed') {
    return html`<p class="summary">${begun}, but nobody knows whether the mail with the secret was delivered.${because} If it arrives, the secret in it will never work.${isPending ? ' Approve it again to send a new one.' : ''}</p>`;
  }
  return html`<p class="summary">${begun}. While the mail with the secret was on its way, ${otherwise(history, number)}. If that mail arrives, the secret in it will never work.</p>`;
}

const CLOSINGS: readonly string[] = ['approval refused', 'approval not confirmed'];

/** What made an attempt void: the first entry after its beginning that does so. */
function otherwise(history: readonly HistoryView[], number: number): Html {
  const begin = history.findIndex(({ event, detail }) => event === 'approval started' && detail?.attempt === number);
  const voiding = history.slice(begin + 1).find(({ event }) => Object.hasOwn(VOIDING, event));
  if (voiding === undefined) return html`it was decided otherwise`;
  return html`${VOIDING[voiding.event as keyof typeof VOIDING]} by ${voiding.by}`;
}

const VOIDING = {
  rejected: 'the request was rejected',
  withdrawn: 'the request was withdrawn',
  revoked: 'the key was revoked',
  'address changed': 'the address of its owner was changed',
  'profile banned': 'its profile was banned',
} as const;
