import { refuseUnchangeable } from '../../../shared/keys/change.ts';
import { factsOf, formNameOf } from '../../../shared/keys/input-facts.ts';
import { refuseMove } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import type { Form } from '../form.ts';
import type { Faults } from '../html/fields.ts';
import { ruleSentence } from '../rules.ts';
import { ALL_DECIDED_FIELDS, isOperation, type KeyOperation, readFields } from './decision-form.ts';

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
  operation: KeyOperation | null;
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
  const operation = query.get('operation') ?? '';
  if (operation === '') return null;
  if (!isOperation(operation)) return refusedLink('The link to this page names no decision that there is.');
  const fault = stateFault(key, operation);
  if (fault !== null) return refusedLink(fault);
  const fields = new Map<string, readonly string[]>();
  for (const name of LINKED_FIELDS) {
    const value = query.get(name) ?? '';
    if (name !== 'operation' && value !== '') fields.set(name, name === 'permissions' ? value.split(',') : [value]);
  }
  const hasNoOldKey = operation === 'approve' && key.successorOf === null && fields.delete('retireOld');
  const { values, faults } = readFields(operation, fields, nowMs, [...fields.keys()]);
  if (hasNoOldKey) faults.set('', 'The link sets the end of an old key, but this key succeeds none.');
  return { operation, fields, values, faults };
}

function refusedLink(sentence: string): DecisionLink {
  return { operation: null, fields: new Map(), values: {}, faults: new Map([['', sentence]]) };
}

/** Why a key, as it is shown, can't be decided on so any more. */
function stateFault(key: KeyView, operation: KeyOperation): string | null {
  try {
    if (operation === 'change') refuseUnchangeable(key);
    else refuseMove(key, operation);
    return null;
  } catch (error) {
    const sentence = ruleSentence(error);
    if (sentence === null) throw error;
    return sentence;
  }
}

/** What is said above a page whose form a link has filled in. */
export function linkNote(link: DecisionLink | null): Html {
  if (link === null || link.operation === null) return html``;
  const { operation } = link;
  return html`<p class="note">A link leads to the form <a href="#${operation}">${NAMES[operation]}</a> of this page, and may have filled it in. Nothing is decided before you send that form and confirm it with your passkey.</p>`;
}

const NAMES: Readonly<Record<KeyOperation, string>> = {
  approve: 'Approve',
  reject: 'Reject',
  change: 'Change',
  revoke: 'Revoke',
};
