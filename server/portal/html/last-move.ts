import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { userText } from './user-text.ts';

/** The entry of a key's history that brought the key into its state; undefined for `expired`, of which there is none. */
export function lastMove({ state }: KeyView, history: readonly HistoryView[]): HistoryView | undefined {
  return history.findLast(({ from, to }) => to === state && from !== state);
}

/** The reason of such an entry; empty if it has none, or if it was erased. */
export function reasonOf(move: HistoryView | undefined): Html {
  const reason = move?.detail?.reason;
  return reason === undefined
    ? html``
    : html`<p>The reason:</p><blockquote class="text">${userText(reason)}</blockquote>`;
}
