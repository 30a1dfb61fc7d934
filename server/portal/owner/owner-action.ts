import type { Person } from '../../../shared/actor.ts';
import { factsOf, formNameOf, typedText } from '../../../shared/keys/inputs.ts';
import { keyRevision, refuseState } from '../../../shared/keys/record.ts';
import type { AnyOperation, OwnerPage } from '../../../shared/operations/entry.ts';
import { checkReach, OPERATIONS } from '../../../shared/operations.ts';
import { html, userText } from '../../html.ts';
import script from '../html/count.browser.js' with { type: 'text' };
import { errorSummary, type Faults, formTo, hiddenField, inputField, NO_FAULTS } from '../html/fields.ts';
import { stateTag } from '../html/key-facts.ts';
import { doneAt } from '../requests/answers.ts';
import { allValues, type Form, oneValue } from '../requests/form.ts';
import { formFields, performFor, performForm, whatStops } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { bannedNote, crumbs, ownKeyPath, ownProfile } from './own-profile.ts';

// What owners do with a key: each operation has a page that describes its effect and asks for its input, generated from the
// operation's entry in the table.

/** `GET /developers/keys/:identifier/…`: the page of an operation. Throws what {@link doAction} throws. */
export function actionPage(context: PageContext, operation: AnyOperation, door: OwnerPage): Promise<Page> {
  return show(context, operation, door, null, NO_FAULTS);
}

/** `POST` to the same path: performs the operation. Throws `not_found`, and `refused` if the key's state does not allow it. */
export function doAction(context: PageContext, operation: AnyOperation, door: OwnerPage): Promise<Outcome> {
  const { form, params, person } = context;
  const identifier = params.identifier as string;
  const shown = oneValue(form, 'shown');
  const confirming = person?.kind === 'owner' && shown !== '' ? { ...person, shown } : person;
  return performForm({ ...context, person: confirming }, operation, formFields(operation, 'owner'), {
    about: { identifier },
    done: () => doneAt(`/developers/keys/${identifier}`, operation),
    show: (faults) => show(context, operation, door, form, faults),
  });
}

/** The page of the operation, with what was typed if the form was refused. Throws what {@link doAction} throws. */
async function show(
  context: PageContext,
  operation: AnyOperation,
  door: OwnerPage,
  typed: Form | null,
  faults: Faults,
): Promise<Page> {
  const identifier = context.params.identifier as string;
  checkReach(context.access, context.person as Person, OPERATIONS.show, { identifier });
  // Read before the rest: if the key changes in between, what is confirmed here is refused.
  const shown = keyRevision(context.access.db, identifier);
  const { key } = await performFor(context, OPERATIONS.show, { identifier });
  const { from, event, isDangerous } = operation;
  refuseState(key, from, event);
  const { title, button, consequence } = operation.texts;
  const defaults = operation.defaults(context.access, key);
  const fields = formFields(operation, 'owner').map(([input, schema]) => {
    const texts =
      typed === null ? typedText(factsOf(schema).kind, defaults[input]) : allValues(typed, formNameOf(input, schema));
    return inputField(input, schema, { texts, faults });
  });
  const path = ownKeyPath(context)(key.identifier);
  return {
    title: `${title} “${key.name}”`,
    where: 'API keys',
    scripts: [script],
    body: html`${crumbs(context, key)}<div class="ask stack">${errorSummary(faults)}<div><h1>${title} “${userText(key.name)}”${isDangerous ? '?' : ''}</h1>
<p class="meta">${stateTag(key)} <code>${key.identifier}</code></p></div>
${bannedNote(ownProfile(context))}
${await whatStops(context, operation, key)}<p>${door.consequence ?? consequence}</p>
${formTo(`${path}/${door.path}`, { text: button, isDangerous, cancel: path }, hiddenField('shown', shown), ...fields)}</div>`,
  };
}
