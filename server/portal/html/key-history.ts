import type { HistoryView } from '../../../shared/keys/view.ts';
import { detailText, eventWords } from '../../../shared/log.ts';
import { numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { columnTime, pageSentence, WHEN } from './time.ts';
import { userText } from './user-text.ts';

/** A key can be renamed any number of times, and each time adds an entry. */
const MAX_SHOWN = 200;

/** A key's history as a table, oldest first; of a long one only the latest {@link MAX_SHOWN} entries. */
export function historyTable(history: readonly HistoryView[]): Html {
  const shown = history.slice(-MAX_SHOWN);
  const rest =
    shown.length === history.length
      ? ''
      : html`<p>The latest ${shown.length} of ${numberText(history.length)} entries:</p>`;
  const rows = shown.map((entry) => {
    const text = detailText(entry);
    // What people wrote is shown as they wrote it.
    const isWritten = entry.event === 'edited' || text === entry.detail?.reason;
    const detail = isWritten ? userText(text) : html`<bdi>${pageSentence(text)}</bdi>`;
    return html`<tr><td data-label="When">${columnTime(Date.parse(entry.at))}</td><td data-label="Who">${entry.by}</td><td data-label="What">${eventWords(entry.event)}${text === '' ? '' : html`: <span class="text">${detail}</span>`}</td></tr>`;
  });
  return html`${rest}<table><thead><tr><th scope="col">${WHEN}</th><th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>${rows}</tbody></table>`;
}
