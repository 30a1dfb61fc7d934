import { OPTIONAL_REASON } from '../../../shared/keys/inputs.ts';
import { refuseMove } from '../../../shared/keys/record.ts';
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
import { ownKeyPath } from './own-profile.ts';

/** `GET /developers/keys/:identifier/revoke`: asks once more. Throws `not_found`, and `refused` where it is neither Active nor suspended. */
export async function revokePage(visit: Visit): Promise<Page> {
  const { key } = await performHere(visit, OPERATIONS.show, { identifier: visit.params.identifier as string });
  refuseMove(key, 'revoke');
  return show(visit, key.identifier, '', NO_FAULTS);
}

/** `POST /developers/keys/:identifier/revoke`. Throws `not_found`. */
export function revoke(visit: Visit): Promise<Outcome> {
  const input = { identifier: visit.params.identifier as string, reason: oneValue(visit.form, 'reason') };
  const { identifier, reason } = input;
  return performForm(visit, OPERATIONS.revoke, input, {
    done: () => ({ seeOther: `/developers/keys/${identifier}`, flash: 'key-revoked' }),
    show: (faults) => show(visit, identifier, reason, faults),
  });
}

function show(visit: Visit, identifier: string, reason: string, faults: Faults): Page {
  const linkTo = ownKeyPath(visit);
  const hint = 'It stands in the history, which admins read.';
  const field = inputField('reason', OPTIONAL_REASON, { texts: [reason], hint, faults });
  return {
    title: `Revoke key ${identifier}`,
    scripts: [script],
    body: html`${errorSummary(faults)}<h1>Revoke a key?</h1>
<p>Key ${keyLink(identifier, linkTo)}. Every request with its secret is refused from that moment on. This can’t be undone. If a program still needs access, request a successor first, and revoke this key once the program has the new secret.</p>
${formTo(`${linkTo(identifier)}/revoke`, 'Revoke the key', field)}`,
  };
}
