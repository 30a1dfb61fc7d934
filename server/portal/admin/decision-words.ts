import { PERMISSIONS } from '../../../shared/db/key-columns.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation, Texts } from '../../../shared/operations/entry.ts';
import { type Html, html } from '../../html.ts';
import { factList, limitWithWords, permissionInWords, type ShownFact } from '../html/key-facts.ts';
import { timeText } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import { type KeyDecision, operationOf } from '../passkeys/decision-form.ts';
import type { PageContext } from '../requests/request-context.ts';
import { wholeKeys } from './whole-keys.ts';

/** A decision with the key that it is about. */
export type DecidedKey = { key: KeyView; decision: KeyDecision };

/** The texts with which an admin confirms decisions: the title, everything about each, and the button. */
export type DecisionWords = { title: string; body: Html; button: { text: string; isDangerous: boolean } };

/**
 * Describes decisions of one kind completely. Throws `refused` if the owner of a key to approve can no longer be mailed.
 */
export function decisionsInWords(context: PageContext, decided: readonly DecidedKey[]): DecisionWords {
  const [{ decision }] = decided as [DecidedKey];
  const operation = operationOf(decision);
  const { button, consequence } = operation.texts as Texts;
  const parts = wholeKeys(
    context,
    decided.map(({ key, decision: own }) => ({ key, facts: decidedFacts(context, operation, key, own) })),
  );
  return {
    title: titleOf(
      operation,
      decided.map(({ key }) => key),
    ),
    body: html`<p>${consequence}</p>${reasonOf(decision)}${parts}`,
    button: { text: `${button} with my passkey`, isDangerous: operation.isDangerous },
  };
}

/** The question of the page, with the name of the key or the number of keys. */
export function titleOf({ texts, name }: AnyOperation, [first, ...others]: readonly KeyView[]): string {
  const what = texts?.button ?? name;
  if (first === undefined || others.length > 0) return `${what} ${others.length + 1} requests?`;
  return `${what} ${first.name === '' ? 'an erased key' : `“${first.name}”`}?`;
}

function decidedFacts(
  { access }: PageContext,
  operation: AnyOperation,
  key: KeyView,
  decision: KeyDecision,
): ShownFact[] {
  const { rateLimits, expiresAtMs, retireOldAtMs } = decision;
  const usual = operation.usual(access, key);
  const isChange = operation.keepsRest;
  const facts: ShownFact[] = operation.alsoConfirmed(access, key).map(([name, value]) => [name, userText(value)]);
  if (decision.permissions !== undefined) facts.push(permissionFact(decision.permissions, key, isChange));
  if (rateLimits !== undefined) {
    const before = isChange ? key.rateLimits : rateLimits;
    facts.push(['Rate limits', oldToNew(before.map(limitWithWords), rateLimits.map(limitWithWords), OF_CHANGE)]);
  }
  if (expiresAtMs !== undefined) {
    const before = isChange ? key.expiresAt : textOf(expiresAtMs);
    facts.push(['Expires', oldToNew([expiryInWords(before)], [expiryInWords(textOf(expiresAtMs))], OF_TIME)]);
  }
  if ('retireOldAtMs' in usual) {
    const end = retireOldAtMs === null || retireOldAtMs === undefined ? 'stays as it is' : timeText(retireOldAtMs);
    facts.push([`End of key ${key.successorOf}`, end]);
  }
  return facts;
}

/** The permissions of a decision, compared with the present ones for a change, with the requested ones for an approval. */
function permissionFact(permissions: readonly string[], key: KeyView, isChange: boolean): ShownFact {
  const before = isChange ? key.permissions : key.requestedPermissions;
  const after = PERMISSIONS.filter((permission) => permissions.includes(permission));
  const words = isChange ? OF_CHANGE : OF_REQUEST;
  return [
    isChange ? 'Permissions' : 'Permissions granted',
    oldToNew(before.map(permissionInWords), after.map(permissionInWords), words),
  ];
}

const OF_CHANGE = { gone: 'removed', added: 'new' };
const OF_TIME = { gone: 'previous', added: 'new' };
const OF_REQUEST = { gone: 'requested, not granted', added: 'not requested' };

/** A list that marks, in words too, what is removed and what is added. */
function oldToNew(before: readonly string[], after: readonly string[], words: typeof OF_CHANGE): Html {
  const items = [
    ...before
      .filter((one) => !after.includes(one))
      .map((one) => html`<li><del>${one}</del> <em>(${words.gone})</em></li>`),
    ...after.map((one) =>
      before.includes(one) ? html`<li>${one}</li>` : html`<li><ins>${one}</ins> <em>(${words.added})</em></li>`,
    ),
  ];
  return html`<ul class="plain tight">${items}</ul>`;
}

function textOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function expiryInWords(at: string | null): string {
  return at === null ? 'never, unless it is revoked' : `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
}

/** The reason, which all decisions share. */
function reasonOf({ reason }: KeyDecision): Html {
  if (reason === undefined || reason === null) return html``;
  return factList([['Reason', html`<span class="text">${userText(reason)}</span>`]]);
}
