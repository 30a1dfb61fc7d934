import { formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { type Html, html } from '../../html.ts';
import countScript from '../html/count.browser.js' with { type: 'text' };
import { buttonLine, errorSummary, type Faults, hiddenField } from '../html/fields.ts';
import { inputField } from '../html/input-field.ts';
import { whatStops } from '../html/what-stops.ts';
import { longFields } from '../passkeys/decision-form.ts';
import { allValues } from '../requests/form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { sectionOf } from './admin-path.ts';
import { titleOf } from './decision-words.ts';
import { wholeKeys } from './whole-keys.ts';

/** The operation that needs a reason, and its keys. */
export type ReasonAsked = {
  operation: AnyOperation;
  keys: readonly KeyView[];
  /** Where the form is sent, and its hidden fields. */
  action: string;
  fields: readonly (readonly [name: string, value: string])[];
  /** The URL of *Cancel*. */
  cancel: string;
  note: Html;
};

/** Whether an operation needs a reason, or another text for which there is a separate page. */
export function needsReason(operation: AnyOperation): boolean {
  return longFields(operation).length > 0;
}

/** The page that asks for a reason, with everything that the decision is based on below the form. */
export async function askForReason(context: PageContext, asked: ReasonAsked, faults: Faults): Promise<Page> {
  const { operation, keys, action, fields, cancel, note } = asked;
  const [first] = keys as [KeyView];
  const { texts, isDangerous } = operation;
  const title = titleOf(operation, keys);
  const button = `${texts.button} with my passkey`;
  const hidden = fields.map(([field, value]) => hiddenField(field, value));
  const inputs = longFields(operation).map(([input, schema]) =>
    inputField(input, schema, {
      texts: allValues(context.form, formNameOf(input, schema)),
      faults,
      isFirst: faults.size === 0,
      hint: keys.length > 1 ? 'The owner of each request gets this text by e-mail.' : undefined,
    }),
  );
  const why = html`<form id="why" method="post" action="${action}" novalidate>${hidden}${inputs}${buttonLine({ text: button, isDangerous, cancel })}</form>`;
  const facts = wholeKeys(
    context,
    keys.map((key) => ({ key, facts: [] })),
  );
  return {
    title,
    where: sectionOf(first),
    scripts: [countScript],
    body: html`${errorSummary(faults)}<h1>${title}</h1>
${note}${await whatStops(context, operation, first)}<p>${texts.consequence}</p>
${why}${facts}${keys.length > 1 ? html`<p><button class="danger" form="why">${button}</button></p>` : ''}`,
  };
}
