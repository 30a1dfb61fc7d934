import { AppError } from '../../../shared/errors.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html } from '../../html.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { attemptInWords, LOOK_SCRIPTS, type ShownAttempt } from '../html/attempt.ts';
import { nameOf } from '../html/key-facts.ts';
import { userText } from '../html/user-text.ts';
import type { PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

/** The outcome of a decision on a request: in one word, and as a sentence to follow the name of the key. */
export type Fate = { kind: 'mailing' | 'Active' | 'rejected' | 'refused'; words: Html };

/**
 * The outcome of the previous decision, on the request that the page's parameter `decided` names, so that an admin can
 * continue with the next request while a mail is being sent. Empty without that parameter.
 */
export async function decidedNote(context: PageContext): Promise<ShownAttempt> {
  const identifier = context.query.get('decided') ?? '';
  const shown = identifier === '' ? null : await showIfThere(context, identifier);
  const fate = shown === null ? null : fateOf(shown.key, shown.history);
  if (shown === null || fate === null) return { body: html``, scripts: [] };
  const isOpen = fate.kind === 'mailing';
  const path = adminKeyPath(context)(identifier);
  const verb = shown.key.state === 'rejected' ? 'Rejected' : 'Approved';
  const look = fate.kind === 'refused' ? 'summary' : 'flash';
  return {
    body: html`<div id="decided" role="status" data-result="${isOpen ? 'open' : 'over'}"><p class="${look}">${verb}: <a href="${path}">${nameOf(shown.key)}</a>${ofProfile(shown.key)}. ${fate.words}</p></div>`,
    scripts: isOpen ? LOOK_SCRIPTS : [],
  };
}

/** The outcome of a request, from its key and history; null if nobody has decided on it. */
export function fateOf(key: KeyView, history: readonly HistoryView[]): Fate | null {
  const { attempt, state } = key;
  if (state === 'rejected') return { kind: 'rejected', words: html`The owner gets the reason by e-mail.` };
  if (attempt?.result === 'open') return { kind: 'mailing', words: html`The e-mail is on its way.` };
  if (attempt?.result === 'accepted') return { kind: 'Active', words: html`The key is ${state}.` };
  const words = attempt === null ? null : attemptInWords(key, attempt, history);
  return words === null ? null : { kind: 'refused', words };
}

/** The profile of a key, in brackets, to follow its name. */
export function ofProfile({ profile }: KeyView): Html {
  return profile === null ? html`` : html` (${userText(profile)})`;
}

async function showIfThere(context: PageContext, identifier: string) {
  try {
    return await performWhenUnlocked(context, OPERATIONS.show, { identifier });
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
