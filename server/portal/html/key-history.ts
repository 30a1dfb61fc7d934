import type { KeyEventName } from '../../../shared/db/key-columns.ts';
import { detailText } from '../../../shared/keys/history-text.ts';
import type { HistoryView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { timeText } from './time.ts';
import { written } from './written.ts';

/** So many entries are shown: a key can be renamed again and again, and each time is an entry. */
const MOST_SHOWN = 200;

/** A key's history as a table, oldest first: who did what, and when. Of a longer one, the latest 200 entries. */
export function historyTable(history: readonly HistoryView[]): Html {
  const shown = history.slice(-MOST_SHOWN);
  const rest =
    shown.length === history.length ? '' : html`<p>The latest ${shown.length} of ${history.length} entries:</p>`;
  const rows = shown.map((entry) => {
    const detail = detailText(entry);
    return html`<tr><td data-label="When">${timeText(Date.parse(entry.at))}</td><td data-label="Who">${entry.by}</td><td data-label="What">${EVENT_WORDS[entry.event]}${detail === '' ? '' : html`: <span class="text">${written(detail)}</span>`}</td></tr>`;
  });
  return html`${rest}<table class="stack"><thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>${rows}</tbody></table>`;
}

/** The entries of a history as sentences; an approval is not refused, but the mail that it needs is. */
const EVENT_WORDS: Readonly<Record<KeyEventName, string>> = {
  requested: 'Requested',
  'approval started': 'Approval begun: the secret is being mailed',
  'approval refused': 'The mail with the secret was not accepted; the request stays pending',
  'approval not confirmed': 'Nobody knows whether the mail with the secret was delivered; the request stays pending',
  approved: 'Approved: the mail with the secret was accepted',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
  suspended: 'Suspended: it is refused meanwhile',
  resumed: 'Resumed: the same secret works again',
  revoked: 'Revoked',
  expired: 'Expired',
  edited: 'Renamed',
  changed: 'Changed',
  'address changed': 'The e-mail address of the profile was changed',
  'profile banned': 'The profile was banned: its keys are refused meanwhile',
  'profile unbanned': 'The ban of the profile was lifted: its Active keys work again',
  erased: 'Erased with its profile',
  'mail not delivered': 'A mail about this key was not delivered',
};
