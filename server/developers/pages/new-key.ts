import { newToken } from '../../../shared/access/tokens.ts';
import { PERMISSIONS, type Permission } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import { MAX_PROJECT_URL, TEXT_RULES } from '../../../shared/keys/fields.ts';
import { checkProfile } from '../../../shared/keys/lifecycle.ts';
import { prefillFrom } from '../../../shared/keys/successor.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { allValues, oneValue } from '../form.ts';
import script from '../html/count.browser.js' with { type: 'text' };
import {
  checkboxes,
  errorSummary,
  type Faults,
  formTo,
  hiddenField,
  NO_FAULTS,
  textArea,
  textField,
} from '../html/fields.ts';
import { keyLink, PERMISSION_WORDS } from '../html/key-facts.ts';
import { notePage } from '../html/note-page.ts';
import { ownKeyPath, ownProfile } from '../own-profile.ts';
import { performHere } from '../perform.ts';
import { performForm } from '../rules.ts';
import type { Outcome, Page, Visit } from '../visit.ts';

/** The fields of the form, as it sends them. */
export const REQUEST_FIELDS = {
  name: 'one',
  description: 'one',
  permissions: 'many',
  projectUrl: 'one',
  expectedUsage: 'one',
  successorOf: 'one',
  formId: 'unseen',
} as const;

/**
 * What was typed. `successorOf` is empty for a key that succeeds none; `formId` stands for the form that was shown, so that
 * a double click makes one request.
 */
type Typed = {
  name: string;
  description: string;
  permissions: readonly string[];
  projectUrl: string;
  expectedUsage: string;
  successorOf: string;
  formId: string;
};

const NOTHING: Omit<Typed, 'formId'> = {
  name: '',
  description: '',
  permissions: ['api.lookup'],
  projectUrl: '',
  expectedUsage: '',
  successorOf: '',
};

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
  if (successorOf === '') return show(visit, { ...NOTHING, formId }, NO_FAULTS);
  const { key } = await performHere(visit, OPERATIONS.show, { identifier: successorOf });
  const { profile: _, ...old } = prefillFrom(key);
  return show(visit, { ...NOTHING, ...old, successorOf, formId }, NO_FAULTS);
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
  const typed = typedOf(visit);
  const input = {
    ...typed,
    profile: ownProfile(visit).username,
    permissions: typed.permissions as Permission[],
    successorOf: typed.successorOf || null,
  };
  return performForm(visit, OPERATIONS.request, input, {
    done: ({ identifier }) => ({ seeOther: `/developers/keys/${identifier}`, flash: 'key-requested' }),
    show: (faults) => show(visit, typed, faults),
  });
}

function typedOf({ form }: Visit): Typed {
  return {
    name: oneValue(form, 'name'),
    description: oneValue(form, 'description'),
    permissions: allValues(form, 'permissions'),
    projectUrl: oneValue(form, 'projectUrl'),
    expectedUsage: oneValue(form, 'expectedUsage'),
    successorOf: oneValue(form, 'successorOf'),
    formId: oneValue(form, 'formId'),
  };
}

function show(visit: Visit, typed: Typed, faults: Faults): Page {
  const { successorOf } = typed;
  const title = successorOf === '' ? 'Request a key' : 'Request a successor';
  const action = publicPath(visit.access.config, '/developers/keys/new');
  return {
    title,
    scripts: [script],
    body: html`${errorSummary(faults)}<h1>${title}</h1>
${successorOf === '' ? html`<p>An admin reads this and decides. You get a mail either way.</p>` : successorWords(visit, successorOf)}
${formTo(action, 'Send the request', ...fieldsOf(typed, faults))}`,
  };
}

function successorWords(visit: Visit, identifier: string): Html {
  return html`<p>This key is to take the place of ${keyLink(identifier, ownKeyPath(visit))}. Both work until the old one ends, so that your program can be moved from one secret to the other. It is filled in as that key was requested; change what is different now.</p>`;
}

function fieldsOf(typed: Typed, faults: Faults) {
  const { name, description, permissions, projectUrl, expectedUsage, successorOf, formId } = typed;
  const boundsOf = ({ least, most }: { least: number; most: number }) => ({ least, most });
  return [
    textField({
      name: 'name',
      label: 'Name of the key',
      hint: 'What you call it. You can change it later.',
      value: name,
      bounds: boundsOf(TEXT_RULES.name),
      faults,
    }),
    textArea({
      name: 'description',
      label: 'Description',
      hint: 'What is it for? The admin decides by this.',
      value: description,
      rows: 8,
      bounds: boundsOf(TEXT_RULES.description),
      faults,
    }),
    checkboxes({
      name: 'permissions',
      label: 'Permissions',
      hint: 'At least one.',
      values: permissions,
      options: PERMISSIONS.map((value) => ({ value, label: value, hint: PERMISSION_WORDS[value] })),
      faults,
    }),
    textField({
      name: 'projectUrl',
      label: 'Project URL (optional)',
      hint: 'Where the project can be seen: an http or https address.',
      value: projectUrl,
      type: 'url',
      bounds: { most: MAX_PROJECT_URL },
      faults,
    }),
    textArea({
      name: 'expectedUsage',
      label: 'Expected usage (optional)',
      hint: 'How often, and for what.',
      value: expectedUsage,
      rows: 4,
      bounds: boundsOf(TEXT_RULES.expectedUsage),
      faults,
    }),
    hiddenField('successorOf', successorOf),
    hiddenField('formId', formId),
  ];
}
