import { FIELDS } from '../../../shared/keys/inputs.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { html } from '../../html.ts';
import script from '../html/count.browser.js' with { type: 'text' };
import { errorSummary, type Faults, formTo, NO_FAULTS } from '../html/fields.ts';
import { inputField } from '../html/input-field.ts';
import { keyLink } from '../html/key-facts.ts';
import { oneValue } from '../requests/form.ts';
import { performHere } from '../requests/perform.ts';
import { performForm } from '../requests/rules.ts';
import type { Outcome, Page, Visit } from '../requests/visit.ts';
import { bannedNote, ownKeyPath, ownProfile } from './own-profile.ts';

/** `GET /developers/keys/:identifier/rename`: asks for another name. Throws `not_found`. */
export async function renamePage(visit: Visit): Promise<Page> {
  const { key } = await performHere(visit, OPERATIONS.show, { identifier: visit.params.identifier as string });
  return show(visit, key.identifier, key.name, NO_FAULTS);
}

/** `POST /developers/keys/:identifier/rename`. Throws `not_found`. */
export function rename(visit: Visit): Promise<Outcome> {
  const input = { identifier: visit.params.identifier as string, name: oneValue(visit.form, 'name') };
  const { identifier, name } = input;
  return performForm(visit, OPERATIONS.edit, input, {
    done: () => ({ seeOther: `/developers/keys/${identifier}`, flash: 'key-edited' }),
    show: (faults) => show(visit, identifier, name, faults),
  });
}

function show(visit: Visit, identifier: KeyView['identifier'], name: string, faults: Faults): Page {
  const linkTo = ownKeyPath(visit);
  const field = inputField('name', FIELDS.name, { texts: [name], title: 'Name', hint: '', faults });
  return {
    title: `Rename key ${identifier}`,
    scripts: [script],
    body: html`${errorSummary(faults)}<h1>Rename a key</h1>
${bannedNote(ownProfile(visit))}
<p>Key ${keyLink(identifier, linkTo)}. Its secret and its history stay; the history tells of both names.</p>
${formTo(`${linkTo(identifier)}/rename`, 'Rename', field)}`,
  };
}
