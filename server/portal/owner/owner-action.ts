import { factsOf, formNameOf, typedText } from '../../../shared/keys/inputs.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import type { AnyOperation, OwnerPage } from '../../../shared/operations/entry.ts';
import { checkReach, OPERATIONS } from '../../../shared/operations.ts';
import type { SignedInPerson } from '../../../shared/sign-in/sessions.ts';
import { html, userText } from '../../html.ts';
import script from '../html/count.browser.js' with { type: 'text' };
import { errorSummary, type Faults, formTo, hiddenField, inputField, NO_FAULTS } from '../html/fields.ts';
import { stateTag } from '../html/key-facts.ts';
import { doneAt } from '../requests/answers.ts';
import { type Form, oneValue } from '../requests/form.ts';
import { addChange, formFields, performFor, performForm, whatStops } from '../requests/operation-form.ts';
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
  const { deps, form, params } = context;
  const identifier = params.identifier as string;
  const shown = oneValue(form, 'shown');
  const person = { ...(context.person as SignedInPerson), shown };
  return performForm({ ...context, person }, operation, formFields(operation, 'owner'), {
    about: { identifier },
    done: () => doneAt(`/developers/keys/${identifier}`, operation),
    show: (faults) =>
      show(context, operation, door, form, addChange(faults, shown !== keyRevision(deps.db, identifier))),
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
  const { deps } = context;
  const identifier = context.params.identifier as string;
  checkReach(deps, context.person as SignedInPerson, OPERATIONS.show, { identifier });
  // Read before the rest: if the key changes in between, what is confirmed here is refused.
  const shown = keyRevision(deps.db, identifier);
  const { key } = await performFor(context, OPERATIONS.show, { identifier });
  const { isDangerous, texts } = operation;
  operation.check(deps, key);
  const defaults = operation.defaults(deps, key);
  const fields = formFields(operation, 'owner').map(([input, schema]) => {
    const sent = typed?.get(formNameOf(input, schema)) ?? [];
    return inputField(input, schema, {
      texts: typed === null ? typedText(factsOf(schema).kind, defaults[input]) : sent,
      faults,
    });
  });
  const path = ownKeyPath(context, identifier);
  return {
    title: `${texts.title} “${key.name}”`,
    where: 'API keys',
    scripts: [script],
    body: html`${crumbs(context, key)}<div class="ask stack">${errorSummary(faults)}<div><h1>${texts.title} “${userText(key.name)}”${isDangerous ? '?' : ''}</h1>
<p class="meta">${stateTag(key)} <code>${identifier}</code></p></div>
${bannedNote(ownProfile(context))}
${await whatStops(context, operation, key)}<p>${door.consequence ?? texts.consequence}</p>
${formTo(`${path}/${door.path}`, { text: texts.button, isDangerous, cancel: path }, hiddenField('shown', shown), ...fields)}</div>`,
  };
}
