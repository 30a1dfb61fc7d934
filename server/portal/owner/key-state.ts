import type { KeyState } from '../../../shared/db/schema.ts';
import { hasSecret } from '../../../shared/keys/key.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { lastMove, reasonOf } from '../html/key-facts.ts';
import { timeText } from '../html/time.ts';

/**
 * The state of a key for its owner: what it means, and what happens next. `request` is the link for requesting a replacement,
 * or for repeating an ended one; null if that is not possible.
 */
export function stateInWords(key: KeyView, history: readonly HistoryView[], request: Html | null): Html {
  const { state, refusedFor } = key;
  if (state === 'pending') return html`<p>${pendingWords(key)}</p>`;
  if (hasSecret(state) && state !== 'Active') {
    return html`${heldWords(key, lastMove(key, history))}${refusedFor === null ? '' : BANNED_TOO}`;
  }
  if (refusedFor === 'ban') {
    return html`<p>It is refused while the profile is banned, and works again with the same secret when the ban is lifted.</p>`;
  }
  return state === 'Active' ? html`<p>${activeWords(key, request)}</p>` : endWords(key, lastMove(key, history));
}

const BANNED_TOO = html`<p>The profile is banned, too: its keys are refused until the ban is lifted.</p>`;

function activeWords({ decidedAt, expiresAt }: KeyView, request: Html | null): Html {
  const secret = html`The secret is only in the e-mail of ${timeText(Date.parse(decidedAt as string))}.`;
  const lost = request === null ? '' : html` Lost it? ${request}.`;
  if (expiresAt === null) return html`${secret}${lost}`;
  return html`It expires ${timeText(Date.parse(expiresAt))}; replace it before then if you still need it. ${secret}${lost}`;
}

function pendingWords({ attempt }: KeyView): string {
  const result = attempt?.result;
  if (result === 'open') return 'An admin has just approved it: the e-mail with the secret is on its way to you.';
  if (result === 'refused') {
    return 'An admin approved it, but the e-mail with the secret was refused. Check that your mailbox accepts e-mail, then ask whoever runs this service to approve the request again.';
  }
  if (result === 'not confirmed') {
    return 'An admin approved it, but it is not known whether the e-mail with the secret was delivered. If you got it, its secret does not work: an admin has to approve the request again, which sends a new one.';
  }
  return 'Waiting for an admin. You get an e-mail either way: with the secret, or with the reason for the rejection. Until then you can withdraw the request.';
}

/** When a key was stopped that may become Active again, by whom and why. */
function heldWords({ state, expiresAt }: KeyView, begin: HistoryView | undefined): Html {
  const until = expiresAt === null ? '' : html` before it expires ${timeText(Date.parse(expiresAt))}`;
  return html`<p>${capitalised(state)}${whenAndBy(begin)}: its requests are refused. If an admin makes it Active again${until}, the same secret works again. It still counts as one of your keys.</p>${reasonOf(begin)}`;
}

/** When a key ended, how, by whom and why. */
function endWords({ state, permissions, expiresAt }: KeyView, end: HistoryView | undefined): Html {
  const when = state === 'expired' && expiresAt !== null ? html` ${timeText(Date.parse(expiresAt))}` : whenAndBy(end);
  const secret = permissions.length > 0 ? 'Its secret no longer works, and it' : 'It';
  return html`<p>${capitalised(state)}${when}. ${secret} no longer counts towards the limit.</p>${reasonOf(end)}`;
}

/** Why a key was rejected or revoked, for its owner who requests it again; empty if no reason was given. `link` leads to it. */
export function whyEnded(key: KeyView, history: readonly HistoryView[], link: Html): Html {
  const end = lastMove(key, history);
  return end?.detail?.reason === undefined
    ? html``
    : html`<p>${link} was ${key.state}${whenAndBy(end)}.</p>${reasonOf(end)}`;
}

function capitalised(state: KeyState): string {
  return state.charAt(0).toUpperCase() + state.slice(1);
}

function whenAndBy(move: HistoryView | undefined): Html {
  return move === undefined ? html`` : html` ${timeText(Date.parse(move.at))} by ${move.by}`;
}
