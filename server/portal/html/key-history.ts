import type { HistoryView } from '../../../shared/keys/view.ts';
import { detailText, eventWords } from '../../../shared/log.ts';
import { numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { pageSentence, relativeTime } from './time.ts';
import { userText } from './user-text.ts';

/** A key can be renamed any number of times, and each time adds an entry. */
const MAX_SHOWN = 200;

/** A key's history, a sentence a line, newest first; of a long one only the latest {@link MAX_SHOWN} entries. */
export function historyList(history: readonly HistoryView[], nowMs: number): Html {
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
    const said = text === '' ? '' : html`: <span class="said">${detail}</span>`;
    return html`<li><p>${eventWords(entry.event)}${said} <span class="soft">· ${entry.by}</span></p>${relativeTime(Date.parse(entry.at), nowMs)}</li>`;
  });
  return html`${rest}<ol class="list log">${rows.toReversed()}</ol>`;
}
