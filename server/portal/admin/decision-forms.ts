import type { Deps } from '../../../shared/deps.ts';
import { AppError, faultOf } from '../../../shared/errors.ts';
import { factsOf, formNameOf, type InputFacts, isLongText, typedText } from '../../../shared/keys/inputs.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import { type Html, html } from '../../html.ts';
import { buttonLook, type Faults, hiddenField, inputField, NO_FAULTS, type Option } from '../html/fields.ts';
import { limitText } from '../html/key-facts.ts';
import { pageSentence } from '../html/time.ts';
import { type Form, oneValue } from '../requests/form.ts';
import { type FormFields, formFields, sentTexts } from '../requests/operation-form.ts';

/** The decision (an operation of admins) with this name. Throws `bad_form` if there is none. */
export function decisionNamed(name: string): AnyOperation {
  const operation = DECISIONS.find((one) => one.name === name);
  if (operation === undefined) throw new AppError('bad_form');
  return operation;
}

/** The fields of the form of a decision. */
export function decidedFields(operation: AnyOperation): FormFields {
  return formFields(operation, 'admin');
}

/** The fields that the page of the key has. */
function shortFields(operation: AnyOperation): FormFields {
  return decidedFields(operation).filter(([, schema]) => !isLongText(schema));
}

/** The fields that the page that asks once more has, once for all keys: long texts, such as a reason. */
export function longFields(operation: AnyOperation): FormFields {
  return decidedFields(operation).filter(([, schema]) => isLongText(schema));
}

/** Whether an operation needs a reason, for which it asks once more. */
export function needsReason(operation: AnyOperation): boolean {
  return longFields(operation).length > 0;
}

/** What the forms of a key's page need. */
export type DecisionParts = {
  access: Deps;
  key: KeyView;
  /** The version of the key that the page shows, by `keyRevision`. */
  shown: string;
  action: string;
  /** The sent form, if it was refused. */
  typed: Form | null;
  faults: Faults;
};

/** The decisions for the key's current state: those that are possible now, and why each of the others would be refused. */
function decisionsFor(access: Deps, key: KeyView) {
  const ofState = DECISIONS.filter(({ from }) => from === null || from.includes(key.state));
  const all = ofState.map((operation) => ({
    operation,
    fault: faultOf(() => operation.check(access, key)),
  }));
  return {
    possible: all.filter(({ fault }) => fault === null).map(({ operation }) => operation),
    refused: all.flatMap(({ operation, fault }) => (fault === null ? [] : [{ operation, fault }])),
  };
}

/**
 * The forms of the decisions that are possible now, with their buttons side by side, and why others are not; empty if the key's
 * state allows no decision. The next page asks for a reason.
 */
export function decisionForms(parts: DecisionParts): Html {
  const { possible, refused } = decisionsFor(parts.access, parts.key);
  if (possible.length + refused.length === 0) return html``;
  const isPending = parts.key.state === 'pending';
  return html`<aside class="decision" id="decide" tabindex="-1" aria-labelledby="yours"><div class="card"><h2 id="yours">${isPending ? 'Your decision' : 'Change this key'}</h2>
${refused.map(({ operation: { texts }, fault }) => html`<p class="warn">“${texts.button}” is not possible right now. ${pageSentence(fault)}</p>`)}
${possible.map((operation) => formOf(parts, operation))}</div>
<p class="buttons act">${possible.map((operation) => buttonOf(operation, !isPending || !operation.mailsSecret))}</p></aside>`;
}

/** The button of a form, outside of the form. */
function buttonOf(operation: AnyOperation, isSecond: boolean): Html {
  const { name, texts } = operation;
  return html`<button${buttonLook({ isSecond })} form="${name}">${texts.formButton ?? texts.button}${needsReason(operation) ? '…' : ''}</button> `;
}

function formOf(parts: DecisionParts, operation: AnyOperation): Html {
  const { key, faults, access } = parts;
  const typed = typedIn(parts, operation);
  const defaults = operation.defaults(access, key);
  const fields = shortFields(operation)
    .filter(([input]) => input in defaults)
    .map(([input, schema]) => {
      const facts = factsOf(schema);
      const name = formNameOf(input, schema);
      return inputField(input, schema, {
        texts: typed === null ? typedText(facts.kind, defaults[input]) : sentTexts(input, schema, typed),
        // Several forms have fields with the same name; errors and their links belong to the form that was sent.
        id: typed === null ? `${operation.name}-${name}` : undefined,
        title: facts.titleFor?.(key.successorOf),
        hint: null,
        choices: choicesOf(parts, operation, facts, defaults[input]),
        faults: typed === null ? NO_FAULTS : faults,
      });
    });
  const { name, texts } = operation;
  const heading = fields.length === 0 ? '' : html`<h3 class="unseen">${texts.button}</h3>`;
  return html`<form id="${name}" method="post" action="${parts.action}" novalidate>${heading}${hiddenField('operation', name)}${hiddenField('shown', parts.shown)}${fields}</form>`;
}

function typedIn({ typed }: DecisionParts, operation: AnyOperation): Form | null {
  return typed !== null && oneValue(typed, 'operation') === operation.name ? typed : null;
}

/** The values that a page offers for a field, the default (`initial`) first; undefined if it offers none. */
function choicesOf(
  { access }: DecisionParts,
  { keepsRest }: AnyOperation,
  { kind, isEndless }: InputFacts,
  initial: unknown,
): Option[] | undefined {
  if (kind === 'rate limits') return limitChoices(initial as RateLimit[], access.config, keepsRest);
  if (kind !== 'time') return undefined;
  const [current = ''] = typedText(kind, initial);
  const kept = current === '' ? [] : [{ value: current, label: html`${pageSentence(current)} (current)` }];
  return [...kept, ...(isEndless ? EXPIRIES : RETIREMENTS)];
}

/** The rate limits to choose from: those of the operation, and the default ones if they differ. */
function limitChoices(own: RateLimit[], { defaultRateLimits }: Deps['config'], isKept: boolean): Option[] {
  const option = (limits: RateLimit[], more: string): Option => ({
    value: typedText('rate limits', limits).join(' '),
    label: `${limits.map(limitText).join(', ')}${more}`,
  });
  const [first, second] = [option(own, isKept ? ' (current)' : ''), option(defaultRateLimits, ' (default)')];
  return first.value === second.value ? [first] : [first, second];
}

const EXPIRIES: readonly Option[] = [
  { value: '', label: 'never' },
  { value: '90d', label: 'in 90 days' },
  { value: '365d', label: 'in 1 year' },
];

const RETIREMENTS: readonly Option[] = [
  { value: '', label: 'no change' },
  { value: '7d', label: 'in 7 days' },
  { value: '30d', label: 'in 30 days' },
];
