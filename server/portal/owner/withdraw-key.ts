import { refuseMove } from '../../../shared/keys/record.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { html } from '../../html.ts';
import { formTo } from '../html/fields.ts';
import { keyLink } from '../html/key-facts.ts';
import { written } from '../html/written.ts';
import { performHere } from '../requests/perform.ts';
import type { Outcome, Page, Visit } from '../requests/visit.ts';
import { ownKeyPath } from './own-profile.ts';

/** `GET /developers/keys/:identifier/withdraw`: asks once more. Throws `not_found`, and `refused` where it is not pending. */
export async function withdrawPage(visit: Visit): Promise<Page> {
  const { key } = await performHere(visit, OPERATIONS.show, { identifier: visit.params.identifier as string });
  refuseMove(key, 'withdraw');
  const linkTo = ownKeyPath(visit);
  return {
    title: `Withdraw request ${key.identifier}`,
    body: html`<h1>Withdraw a request?</h1>
<p>The request of key ${keyLink(key.identifier, linkTo)}, “${written(key.name)}”. Nobody decides on it any more, and its place is free. This can’t be undone, but you can request another key.</p>
${formTo(`${linkTo(key.identifier)}/withdraw`, 'Withdraw the request')}`,
  };
}

/** `POST /developers/keys/:identifier/withdraw`. Throws `not_found`, and `refused` where it was decided meanwhile. */
export async function withdraw(visit: Visit): Promise<Outcome> {
  const { identifier } = await performHere(visit, OPERATIONS.withdraw, {
    identifier: visit.params.identifier as string,
  });
  return { seeOther: `/developers/keys/${identifier}`, flash: 'key-withdrawn' };
}
