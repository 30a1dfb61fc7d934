import { outcomeOf } from '../../../shared/approval/outcome.ts';
import { AppError } from '../../../shared/errors.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { type Html, html } from '../../html.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { attemptInWords, LOOK_SCRIPTS, type ShownAttempt } from '../html/attempt.ts';
import { nameOf } from '../html/key-facts.ts';
import { userText } from '../html/user-text.ts';
import type { PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

/** The outcome of a decision on a request: in one word, and as a sentence to follow the name of the key. */
export type Fate = { kind: 'mailing' | 'done' | 'refused'; words: Html };

/**
 * The outcome of the previous decision, on the request that the parameter `decided` names, so that an admin can continue with
 * the next request while an e-mail is being sent; `more` follows it. Empty without that parameter.
 */
export async function decidedNote(context: PageContext, more = html``): Promise<ShownAttempt> {
  const identifier = context.query.get('decided') ?? '';
  const shown = identifier === '' ? null : await showIfThere(context, identifier);
  const decided = shown === null ? null : lastDecision(shown.key, shown.history);
  if (shown === null || decided === null) return { body: html``, scripts: [] };
  const { operation, fate } = decided;
  const isOpen = fate.kind === 'mailing';
  const path = adminKeyPath(context)(identifier);
  const verb = operation.event?.replace(/^./, (first) => first.toUpperCase());
  const look = fate.kind === 'refused' ? 'summary' : 'flash';
  return {
    body: html`<div id="decided" role="status" data-result="${isOpen ? 'open' : 'over'}"><p class="${look}">${verb ?? ''}: <a href="${path}">${nameOf(shown.key)}</a>${ofProfile(shown.key)}. ${fate.words}${more}</p></div>`,
    scripts: isOpen ? LOOK_SCRIPTS : [],
  };
}

/** The decision that led to the request's current state, or else the last one tried; null if there was none. */
function lastDecision(key: KeyView, history: readonly HistoryView[]): { operation: AnyOperation; fate: Fate } | null {
  const decided = REQUEST_DECISIONS.flatMap((operation) => {
    const fate = fateOf(operation, key, history);
    return fate === null ? [] : [{ operation, fate }];
  });
  return decided.find(({ operation }) => operation.to === key.state) ?? decided[0] ?? null;
}

/** The outcome of a decision on a request, from its key and history; null if it was not made. */
export function fateOf(
  { to, continuation, texts }: AnyOperation,
  key: KeyView,
  history: readonly HistoryView[],
): Fate | null {
  if (continuation === null) return key.state === to ? { kind: 'done', words: html`${texts.done ?? ''}` } : null;
  const outcome = outcomeOf(key, history);
  if (outcome?.result === 'open') return { kind: 'mailing', words: html`The e-mail is on its way.` };
  if (outcome?.result === 'accepted') return { kind: 'done', words: html`The key is ${key.state}.` };
  const words = outcome === null ? null : attemptInWords(key, outcome);
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
