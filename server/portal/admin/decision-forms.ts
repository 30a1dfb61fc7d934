import { faultOf } from '../../../shared/errors.ts';
import { factsOf, formNameOf, type InputFacts, isLongText, typedText } from '../../../shared/keys/inputs.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import { type AnyOperation, allows } from '../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import { type Html, html } from '../../html.ts';
import { buttonLook, type Faults, hiddenField, inputField, NO_ENTER, NO_FAULTS, type Option } from '../html/fields.ts';
import { limitText } from '../html/key-facts.ts';
import { pageSentence } from '../html/time.ts';
import { type Form, oneValue } from '../requests/form.ts';
import { type FormFields, formFields, sentTexts } from '../requests/operation-form.ts';
import type { PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './parts.ts';

/** The fields of the page that asks for confirmation, shown once for all keys: long texts, such as a reason. */
export function longFields(operation: AnyOperation): FormFields {
  return formFields(operation, 'admin').filter(([, schema]) => isLongText(schema));
}

/** Whether the form on a key's page leads to another page, which asks for confirmation or a long text. */
export function asksOnce(operation: AnyOperation): boolean {
  return operation.isDangerous || longFields(operation).length > 0;
}

/** A key as its page shows it: its revision, and the sent form with its errors if that was refused. */
type Shown = { key: KeyView; revision: string; typed: Form | null; faults: Faults };

/**
 * The forms of the decisions that are possible now, with their buttons side by side, and why others are not; null if the key
 * allows no decision. The next page asks for a reason or for confirmation.
 */
export function decisionForms(context: PageContext, shown: Shown): Html | null {
  const all = DECISIONS.filter((operation) => allows(operation, shown.key)).map((operation) => ({
    operation,
    fault: faultOf(() => operation.check(context.deps, shown.key)),
  }));
  if (all.length === 0) return null;
  const refused = all.flatMap(({ operation: { texts }, fault }) =>
    fault === null
      ? []
      : [html`<p class="warn">“${texts.button}” is not possible right now. ${pageSentence(fault)}</p>\n`],
  );
  const possible = all.filter(({ fault }) => fault === null).map(({ operation }) => operation);
  const isPending = shown.key.state === 'pending';
  // The buttons are outside the forms, so each names its own.
  const buttons = possible.map((operation) => {
    const { name, texts, mailsSecret } = operation;
    const look = buttonLook({ isSecond: !isPending || !mailsSecret });
    return html`<button${look} form="${name}">${texts.formButton ?? texts.button}${asksOnce(operation) ? '…' : ''}</button> `;
  });
  return html`<aside class="decision" id="decide" tabindex="-1" aria-labelledby="yours"><div class="card"><h2 id="yours">${isPending ? 'Your decision' : 'Change this key'}</h2>
${refused}${possible.map((operation) => formOf(context, shown, operation))}</div>
<p class="buttons act">${buttons}</p></aside>`;
}

function formOf(context: PageContext, { key, revision, ...sent }: Shown, operation: AnyOperation): Html {
  const { deps } = context;
  const { name, texts } = operation;
  // Several forms have fields with the same name; errors and their links belong to the form that was sent.
  const typed = sent.typed !== null && oneValue(sent.typed, 'operation') === name ? sent.typed : null;
  const defaults = operation.defaults(deps, key);
  const fields = formFields(operation, 'admin')
    .filter(([input, schema]) => input in defaults && !isLongText(schema))
    .map(([input, schema]) => {
      const facts = factsOf(schema);
      return inputField(input, schema, {
        texts: typed === null ? typedText(facts.kind, defaults[input]) : sentTexts(input, schema, typed),
        id: typed === null ? `${name}-${formNameOf(input, schema)}` : undefined,
        title: facts.titleFor?.(key.successorOf),
        hint: null,
        choices: choicesOf(context, operation, facts, defaults[input]),
        faults: typed === null ? NO_FAULTS : sent.faults,
      });
    });
  const heading = fields.length === 0 ? '' : html`<h3 class="unseen">${texts.button}</h3>`;
  const action = `${adminKeyPath(context)(key.identifier)}/decide`;
  return html`<form id="${name}" method="post" action="${action}" novalidate>${NO_ENTER}${heading}${hiddenField('operation', name)}${hiddenField('shown', revision)}${fields}</form>`;
}

/** The values that a page offers for a field, the default (`initial`) first; undefined if it offers none. */
function choicesOf(
  { config }: PageContext,
  { keepsRest }: AnyOperation,
  { kind, isEndless }: InputFacts,
  initial: unknown,
): Option[] | undefined {
  if (kind === 'rate limits') return limitChoices(initial as RateLimit[], config, keepsRest);
  if (kind !== 'time') return undefined;
  const [current = ''] = typedText(kind, initial);
  const kept = current === '' ? [] : [{ value: current, label: html`${pageSentence(current)} (current)` }];
  return [...kept, ...(isEndless ? EXPIRIES : RETIREMENTS)];
}

/** The rate limits to choose from: those of the operation, and the default ones if they differ. */
function limitChoices(own: RateLimit[], { defaultRateLimits }: PageContext['config'], isKept: boolean): Option[] {
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
