import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { timeText } from '../html/time.ts';
import { written } from '../html/user-text.ts';

/** The state of a key in its owner's words: what it means, and what happens next. */
export function stateInWords(key: KeyView, history: readonly HistoryView[]): Html {
  const { state, expiresAt, refusedFor } = key;
  if (state === 'pending') return html`<p>${pendingWords(key)}</p>`;
  if (refusedFor === 'ban') {
    return html`<p>It is refused, because the profile is banned. It works again with the same secret when the ban is lifted.</p>`;
  }
  if (state === 'Active') {
    return expiresAt === null
      ? html`<p>It works. ${SECRET_WORDS}</p>`
      : html`<p>It works until ${timeText(Date.parse(expiresAt))}. ${SECRET_WORDS} Request a successor in time: an admin has to decide on it.</p>`;
  }
  return state === 'suspended' ? suspendedWords(expiresAt, history) : endWords(state, history);
}

const SECRET_WORDS = 'The mail of the approval has its secret, which nobody can look up again.';

function pendingWords({ attempt }: KeyView): string {
  const result = attempt?.result;
  if (result === 'open') return 'An admin has approved it just now: the mail with the secret is being sent to you.';
  if (result === 'refused') {
    return 'An admin wanted to approve it, but the mail with the secret was not accepted for your address. An admin has to approve it again; if your mailbox is in order, ask whoever runs this service.';
  }
  if (result === 'not confirmed') {
    return 'An admin wanted to approve it, but nobody knows whether the mail with the secret was delivered. If you have got one, that secret does not work: an admin has to approve it again, which sends a new one.';
  }
  return 'It waits for the decision of an admin. You get a mail either way: with the secret, or with the reason why not. Until then you can withdraw it.';
}

/** Since when a key is suspended, by whom, and why, as its history says. */
function suspendedWords(expiresAt: string | null, history: readonly HistoryView[]): Html {
  const begin = lastMoveTo('suspended', history);
  const until = expiresAt === null ? '' : html` until ${timeText(Date.parse(expiresAt))}, when it expires`;
  return html`<p>It was suspended${whenAndBy(begin)}, and is refused. An admin can resume it${until}: then the same secret works again. It keeps its place meanwhile.</p>${reasonOf(begin)}`;
}

/** How a key ended: when, by whom, and why, as its history says. */
function endWords(
  state: Exclude<KeyView['state'], 'pending' | 'Active' | 'suspended'>,
  history: readonly HistoryView[],
): Html {
  const end = lastMoveTo(state, history);
  const when = end !== undefined && state === 'expired' ? html` ${timeText(Date.parse(end.at))}` : whenAndBy(end);
  return html`<p>${END_WORDS[state]}${when}. ${AFTER_WORDS[state]}</p>${reasonOf(end)}`;
}

function lastMoveTo(state: KeyView['state'], history: readonly HistoryView[]): HistoryView | undefined {
  return history.findLast(({ from, to }) => to === state && from !== state);
}

function whenAndBy(move: HistoryView | undefined): Html {
  return move === undefined ? html`` : html` ${timeText(Date.parse(move.at))} by ${move.by}`;
}

function reasonOf(move: HistoryView | undefined): Html {
  const reason = move?.detail?.reason;
  return reason === undefined
    ? html``
    : html`<p>The reason:</p><blockquote class="text">${written(reason)}</blockquote>`;
}

const END_WORDS = {
  rejected: 'The request was rejected',
  withdrawn: 'The request was withdrawn',
  revoked: 'It was revoked',
  expired: 'Its time was over',
} as const;

const AFTER_WORDS = {
  rejected: 'You can request another key.',
  withdrawn: 'It takes no place any more.',
  revoked: 'Its secret works no more, and never will again.',
  expired: 'Its secret works no more, and never will again.',
} as const;
