import { detailText, EVENT_WORDS } from '../../../shared/keys/history-text.ts';
import type { HistoryView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { columnTime, WHEN } from './time.ts';
import { userText } from './user-text.ts';

/** The most entries shown: a key can be renamed any number of times, and each adds an entry. */
const MOST_SHOWN = 200;

/** A key's history as a table, oldest first; of a long one only the latest {@link MOST_SHOWN} entries. */
export function historyTable(history: readonly HistoryView[]): Html {
  const shown = history.slice(-MOST_SHOWN);
  const rest =
    shown.length === history.length ? '' : html`<p>The latest ${shown.length} of ${history.length} entries:</p>`;
  const rows = shown.map((entry) => {
    const detail = detailText(entry);
    return html`<tr><td data-label="When">${columnTime(Date.parse(entry.at))}</td><td data-label="Who">${entry.by}</td><td data-label="What">${EVENT_WORDS[entry.event]}${detail === '' ? '' : html`: <span class="text">${userText(detail)}</span>`}</td></tr>`;
  });
  return html`${rest}<table><thead><tr><th scope="col">${WHEN}</th><th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>${rows}</tbody></table>`;
}
