import { factsOf, formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { type Html, html } from '../../html.ts';
import { type Faults, formTo, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { inputField } from '../html/input-field.ts';
import { allValues, type Form, oneValue } from '../requests/form.ts';
import { decidedFields } from './decision-form.ts';
import type { DecisionLink } from './decision-link.ts';

/** What the forms of a key's page are made of. */
export type DecisionParts = {
  access: Access;
  key: KeyView;
  /** The state that the page shows, as `shownKey` says it. */
  shown: string;
  /** Where the forms are sent. */
  action: string;
  /** What was typed, where one of the forms was refused. */
  typed: Form | null;
  /** What the address of the page fills in, where nothing was typed yet. */
  link: DecisionLink | null;
  faults: Faults;
};

/** The forms with which an admin decides on a key in its present state; none where nothing can be decided any more. */
export function decisionForms(parts: DecisionParts): Html {
  const possible = DECISIONS.filter(({ from }) => from === null || from.includes(parts.key.state));
  if (possible.length === 0) return html``;
  return html`<h2 id="decide">Decide</h2>
<p>Each form leads to a page that shows exactly what you decide. You confirm that with your passkey, and nothing happens before.</p>
${possible.map((operation) => formOf(parts, operation))}`;
}

function formOf(parts: DecisionParts, operation: AnyOperation): Html {
  const { key, faults, access } = parts;
  const typed = typedIn(parts, operation);
  const link = typed === null && parts.link?.operation === operation ? parts.link : null;
  const usual = operation.usual(access, key);
  // Several forms have a field of the same name. Faults, and the links to them, are about the form that was sent or filled in.
  const isMeant = typed !== null || link !== null;
  const fields = decidedFields(operation)
    .filter(([input]) => input in usual)
    .map(([input, schema]) => {
      const { kind, hint } = factsOf(schema);
      const name = formNameOf(input, schema);
      const usualTexts = typedText(kind, usual[input]);
      const texts = typed === null ? (link?.fields.get(name) ?? usualTexts) : allValues(typed, name);
      // What a link sets is compared as it is meant, so that 60/60s is no other limit than 60/1m.
      const meant = link?.values[input];
      const isSet =
        link?.fields.has(name) && (meant === undefined || !Bun.deepEquals(typedText(kind, meant), usualTexts));
      return inputField(input, schema, {
        texts,
        ...(!isMeant && { id: `${operation.name}-${name}` }),
        ...(input === 'retireOldAtMs' && { title: `When key ${key.successorOf} ends, which this one is to replace` }),
        hint: html`${kind === 'permissions' ? '' : (hint ?? '')} ${isSet ? markOf(usualTexts.join(', ')) : ''}`,
        faults: isMeant ? faults : NO_FAULTS,
      });
    });
  return section(parts, operation, fields);
}

/** Says that a link has set a field, and what would stand there without it. */
function markOf(otherwise: string): Html {
  return html`<mark>Set by a link</mark>, instead of ${otherwise === '' ? 'nothing' : otherwise}.`;
}

/** What was typed into the form of an operation, where that was refused. */
function typedIn({ typed }: DecisionParts, operation: AnyOperation): Form | null {
  return typed !== null && oneValue(typed, 'operation') === operation.name ? typed : null;
}

function section({ shown, action }: DecisionParts, operation: AnyOperation, fields: readonly Html[]): Html {
  const { name, texts, isDangerous, isMain } = operation;
  const title = texts?.button ?? name;
  const button = { text: `${title} …`, isDangerous, isSecond: !isMain };
  return html`<section aria-labelledby="${name}"><h3 id="${name}">${title}</h3>${formTo(action, button, hiddenField('operation', name), hiddenField('shown', shown), ...fields)}</section>`;
}
