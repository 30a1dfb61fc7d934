import { faultOf } from '../../../shared/errors.ts';
import { factsOf, formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { refuseState } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { type Html, html } from '../../html.ts';
import type { Faults } from '../html/fields.ts';
import type { Form } from '../requests/form.ts';
import { readFields } from '../requests/operation-form.ts';
import { ALL_DECIDED_FIELDS, decidedFields, decisionNamed } from './decision-form.ts';

// A link to the page of a key may fill in one of its forms: `?operation=approve&rateLimits=60/1m,5000/1d&expires=90d`. It
// decides nothing. It fills in choices and no text: anybody may have made it, and what is typed there is mailed to the owner.

/** The parameters of such a link: the operation, and fields of its form as a person would type them there. */
export const LINKED_FIELDS: readonly string[] = [
  'operation',
  ...[...ALL_DECIDED_FIELDS]
    .filter(([, schema]) => factsOf(schema).kind !== 'lines')
    .map(([input, schema]) => formNameOf(input, schema)),
];

/** What a link fills in. */
export type DecisionLink = {
  /** Whose form it fills in; null where that form is not on the page. */
  operation: AnyOperation | null;
  /** The fields that it names, as they would be typed. */
  fields: Form;
  /** What they mean, by the names of the operation's inputs. */
  values: Readonly<Record<string, unknown>>;
  /** What is wrong with them, by field; by an empty name what is wrong with the whole link. */
  faults: Faults;
};

/**
 * What the address of a key's page fills in; null where it names no operation. Spans such as `90d` count from `nowMs`.
 * Nothing that is wrong with a link keeps the page from being shown.
 */
export function linkIn(query: ReadonlyMap<string, string>, key: KeyView, nowMs: number): DecisionLink | null {
  const name = query.get('operation') ?? '';
  if (name === '') return null;
  const operation = decisionNamed(name);
  if (operation === undefined) return refusedLink('The link to this page names no decision that there is.');
  const fault = stateFault(key, operation);
  if (fault !== null) return refusedLink(fault);
  const fields = new Map<string, readonly string[]>();
  for (const field of LINKED_FIELDS) {
    const value = query.get(field) ?? '';
    if (field !== 'operation' && value !== '') fields.set(field, field === 'permissions' ? value.split(',') : [value]);
  }
  const hasNoOldKey =
    key.successorOf === null && decidedFields(operation).some(isRetirement) && fields.delete('retireOld');
  const { values, faults } = readFields(
    decidedFields(operation).filter(([input, schema]) => fields.has(formNameOf(input, schema))),
    fields,
    nowMs,
  );
  if (hasNoOldKey) faults.set('', 'The link sets the end of an old key, but this key succeeds none.');
  return { operation, fields, values, faults };
}

function refusedLink(sentence: string): DecisionLink {
  return { operation: null, fields: new Map(), values: {}, faults: new Map([['', sentence]]) };
}

function isRetirement([input]: readonly [input: string, ...unknown[]]): boolean {
  return input === 'retireOldAtMs';
}

/** Why a key, as it is shown, can't be decided on so any more. */
function stateFault(key: KeyView, { from, event }: AnyOperation): string | null {
  return faultOf(() => refuseState(key, from, event));
}

/** What is said above a page whose form a link has filled in. */
export function linkNote(link: DecisionLink | null): Html {
  if (link === null || link.operation === null) return html``;
  const { name, texts } = link.operation;
  return html`<p class="note">A link leads to the form <a href="#${name}">${texts?.button ?? name}</a> of this page, and may have filled it in. Nothing is decided before you send that form and confirm it with your passkey.</p>`;
}
