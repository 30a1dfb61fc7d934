import { isoTime } from '../../../shared/clock.ts';
import type { Permission } from '../../../shared/db/key-columns.ts';
import { factsOf, type InputKind } from '../../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import type { Decision } from '../../../shared/passkeys/decision.ts';
import { type Html, html } from '../../html.ts';
import { factList, limitWithWords, permissionInWords, type ShownFact } from '../html/key-facts.ts';
import { pageSentence } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import { longFields, operationOf, shortFields } from '../passkeys/decision-form.ts';
import type { PageContext } from '../requests/request-context.ts';
import { wholeKeys } from './whole-keys.ts';

/** A decision with the key that it is about. */
export type DecidedKey = { key: KeyView; decision: Decision };

/** The texts with which an admin confirms decisions: the title, everything about each, and the button. */
export type DecisionWords = { title: string; body: Html; button: { text: string; isDangerous: boolean } };

/**
 * Describes decisions of one kind completely, with every field of their input; `more` follows the consequence. Throws `refused`
 * if the owner of a key to approve can no longer be mailed.
 */
export function decisionsInWords(context: PageContext, decided: readonly DecidedKey[], more: Html): DecisionWords {
  const [{ decision }] = decided as [DecidedKey];
  const operation = operationOf(decision);
  const { button, consequence } = operation.texts;
  const parts = wholeKeys(
    context,
    decided.map(({ key, decision: own }) => ({ key, facts: decidedFacts(context, operation, key, own) })),
  );
  return {
    title: titleOf(
      operation,
      decided.map(({ key }) => key),
    ),
    body: html`<p>${consequence}${more}</p>${sharedFacts(operation, decision)}${parts}`,
    button: { text: `${button} with my passkey`, isDangerous: operation.isDangerous },
  };
}

/** The page's title, a question with the name of the key or the number of keys. */
export function titleOf({ texts: { button } }: AnyOperation, [first, ...others]: readonly KeyView[]): string {
  if (first === undefined || others.length > 0) return `${button} ${others.length + 1} requests?`;
  return `${button} ${first.name === '' ? 'an erased key' : `“${first.name}”`}?`;
}

/** The long texts, which all decisions share. */
function sharedFacts(operation: AnyOperation, { input }: Decision): Html {
  const facts = longFields(operation).flatMap(([name, schema]): ShownFact[] => {
    const { kind, title } = factsOf(schema);
    return typedText(kind, input[name]).map((text) => [title, html`<span class="text">${userText(text)}</span>`]);
  });
  return facts.length === 0 ? html`` : factList(facts);
}

/** The confirmed facts besides the key itself: those of the operation, and each field of the input that this key has. */
function decidedFacts(
  { access }: PageContext,
  operation: AnyOperation,
  key: KeyView,
  { input }: Decision,
): ShownFact[] {
  const defaults = operation.defaults(access, key);
  return [
    ...operation.alsoConfirmed(access, key).map(([name, value]): ShownFact => [name, userText(value)]),
    ...shortFields(operation)
      .filter(([name]) => name in defaults || (input[name] ?? null) !== null)
      .map(([name, schema]): ShownFact => {
        const { kind, title, titleFor, isEndless = false } = factsOf(schema);
        const decided = {
          value: input[name],
          initial: name in defaults ? defaults[name] : input[name],
          isChange: operation.keepsRest,
          isEndless,
        };
        return [titleFor?.(key.successorOf) ?? title, (IN_WORDS[kind] ?? inWords)(decided, kind)];
      }),
  ];
}

/** The value of a field, the default (for a change, the current value), and whether a time may be `never`. */
type DecidedField = { value: unknown; initial: unknown; isChange: boolean; isEndless: boolean };

/** How kinds of fields are shown; all others are shown as they are typed. */
const IN_WORDS: Partial<Record<InputKind, (field: DecidedField) => Html>> = {
  permissions: ({ value, initial, isChange }) =>
    oldToNew(
      (initial as Permission[]).map(permissionInWords),
      (value as Permission[]).map(permissionInWords),
      isChange ? OF_CHANGE : OF_REQUEST,
    ),
  'rate limits': ({ value, initial, isChange }) =>
    oldToNew(
      ((isChange ? initial : value) as RateLimit[]).map(limitWithWords),
      (value as RateLimit[]).map(limitWithWords),
      OF_CHANGE,
    ),
  time: ({ value, initial, isChange, isEndless }) =>
    oldToNew([timeInWords(isChange ? initial : value, isEndless)], [timeInWords(value, isEndless)], OF_TIME),
};

function inWords({ value }: DecidedField, kind: InputKind): Html {
  return userText(typedText(kind, value).join(', '));
}

const OF_CHANGE = { gone: 'removed', added: 'new' };
const OF_TIME = { gone: 'previous', added: 'new' };
const OF_REQUEST = { gone: 'requested, not granted', added: 'not requested' };

/** A list that marks, in words too, what is removed and what is added. */
function oldToNew(before: readonly string[], after: readonly string[], words: typeof OF_CHANGE): Html {
  const items = [
    ...before
      .filter((one) => !after.includes(one))
      .map((one) => html`<li><del>${pageSentence(one)}</del> <em>(${words.gone})</em></li>`),
    ...after.map((one) =>
      before.includes(one)
        ? html`<li>${pageSentence(one)}</li>`
        : html`<li><ins>${pageSentence(one)}</ins> <em>(${words.added})</em></li>`,
    ),
  ];
  return html`<ul class="plain tight">${items}</ul>`;
}

function timeInWords(ms: unknown, isEndless: boolean): string {
  if (typeof ms === 'number') return isoTime(ms);
  return isEndless ? 'never; it works until it is revoked' : 'stays as it is';
}
