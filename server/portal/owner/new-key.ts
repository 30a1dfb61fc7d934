import type { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { factsOf } from '../../../shared/keys/fields/input-facts.ts';
import { KEY_REQUEST } from '../../../shared/keys/fields/input-groups.ts';
import { readAnswer, typedText } from '../../../shared/keys/fields/input-text.ts';
import { FIELDS } from '../../../shared/keys/fields/inputs.ts';
import { checkProfile } from '../../../shared/keys/life/lifecycle.ts';
import { prefillFrom } from '../../../shared/keys/life/successor.ts';
import type { Texts } from '../../../shared/operations/entry.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { newToken } from '../../../shared/sessions-file/tokens.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performHere } from '../../thread/perform.ts';
import script from '../html/count.browser.js' with { type: 'text' };
import { errorSummary, type Faults, formTo, NO_FAULTS } from '../html/fields.ts';
import { inputField } from '../html/input-field.ts';
import { keyLink } from '../html/key-facts.ts';
import { notePage } from '../html/note-page.ts';
import { doneAt } from '../requests/flash.ts';
import { allValues, type FieldKinds } from '../requests/form.ts';
import { performForm } from '../requests/form-errors.ts';
import { fieldKindsOf } from '../requests/operation-form.ts';
import type { Outcome, Page, Visit } from '../requests/request-context.ts';
import { ownKeyPath, ownProfile } from './own-profile.ts';

/** The inputs of the operation that the form sends, and their schemas: `formId` stands for the form that was shown. */
const INPUTS = Object.entries({ ...KEY_REQUEST.shape, successorOf: FIELDS.successorOf, formId: FIELDS.formId });

/** The fields of the form, as it sends them. */
export const REQUEST_FIELDS: FieldKinds = { ...fieldKindsOf(INPUTS), formId: 'unseen' };

/** What was typed, by the names of the inputs; what is absent is empty. */
type Typed = Readonly<Record<string, unknown>>;

/**
 * `GET /developers/keys/new`: asks for everything about a new key. `?successor-of=` fills it with what that key has. Throws
 * `not_found`, and `refused` where it is not Active.
 */
export async function newKeyPage(visit: Visit): Promise<Page> {
  const hindrance = hindranceOf(visit);
  if (hindrance !== null) {
    return notePage('Request a key', hindrance);
  }
  const successorOf = visit.query.get('successor-of') ?? '';
  const formId = newToken(visit.access.random);
  if (successorOf === '') return show(visit, { permissions: ['api.lookup'], formId }, NO_FAULTS);
  const { key } = await performHere(visit, OPERATIONS.show, { identifier: successorOf });
  const { profile: _, ...old } = prefillFrom(key);
  return show(visit, { ...old, successorOf, formId }, NO_FAULTS);
}

/** Why this profile can't have one more key just now, as a sentence; null where it can. */
function hindranceOf(visit: Visit): string | null {
  try {
    checkProfile(visit.access, ownProfile(visit).id);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'refused' && error.details.cause === undefined)
      return error.message;
    throw error;
  }
}

/** `POST /developers/keys/new`: requests the key, and leads to its page; or shows what was typed, and what is wrong. */
export function sendRequest(visit: Visit): Promise<Outcome> {
  const nowMs = visit.access.clock.nowMs();
  const sent = INPUTS.map(([name, schema]) => [name, readAnswer(factsOf(schema), allValues(visit.form, name), nowMs)]);
  const typed: Typed = Object.fromEntries(sent);
  const input = { ...typed, profile: ownProfile(visit).username };
  return performForm(visit, OPERATIONS.request, input, {
    done: ({ identifier }) => doneAt(`/developers/keys/${identifier}`, OPERATIONS.request),
    show: (faults) => show(visit, typed, faults),
  });
}

function show(visit: Visit, typed: Typed, faults: Faults): Page {
  const successorOf = String(typed.successorOf ?? '');
  const title = successorOf === '' ? 'Request a key' : 'Request a successor';
  const action = publicPath(visit.access.config, '/developers/keys/new');
  const { button, consequence } = OPERATIONS.request.texts as Texts;
  return {
    title,
    scripts: [script],
    body: html`${errorSummary(faults)}<h1>${title}</h1>
${successorOf === '' ? html`<p>${consequence}</p>` : successorWords(visit, successorOf)}
${formTo(action, button, ...INPUTS.map(([name, schema]) => fieldOf(name, schema, typed[name], faults)))}`,
  };
}

function successorWords(visit: Visit, identifier: string): Html {
  return html`<p>This key is to take the place of ${keyLink(identifier, ownKeyPath(visit))}. Both work until the old one ends, so that your program can be moved from one secret to the other. It is filled in as that key was requested; change what is different now.</p>`;
}

function fieldOf(name: string, schema: z.ZodType, value: unknown, faults: Faults): Html {
  return inputField(name, schema, { texts: typedText(factsOf(schema).kind, value), faults });
}
