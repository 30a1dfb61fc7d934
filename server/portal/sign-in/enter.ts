import { AppError } from '../../../shared/errors.ts';
import { enterHandOver, readHandOver } from '../../../shared/sign-in/hand-over.ts';
import { logoOf } from '../../frame/frame.ts';
import { html } from '../../html.ts';
import { formTo, hiddenField } from '../html/fields.ts';
import { oneValue, queryValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { finishSignIn, signInFault } from '../requests/session.ts';

/**
 * `GET /developers/enter`: asks a user whom the backend has sent here to continue with their profile. Changes nothing, so that
 * link scanners don't use up the ticket. Throws `not_found`.
 */
export function enterPage(context: PageContext): Page {
  const { deps, config, session, to } = context;
  const ticket = queryValue(context, 'ticket');
  const { profileId, username } = readHandOver(deps, ticket);
  const fault = signInFault(context);
  const isSame = session?.profileId === profileId;
  const ends =
    session === null || isSame
      ? ''
      : html`<p class="note">Somebody else is signed in with this browser. If you continue, they will be signed out.</p>`;
  const form = formTo(
    to('/developers/enter'),
    { text: `Continue as ${username}`, cancel: to('/developers') },
    hiddenField('ticket', ticket),
  );
  return {
    title: 'Continue',
    body: html`<div class="card alone">${logoOf(config)}<h1>Continue as ${username}</h1>
<p>The site that sent you here has already signed you in with this profile. Continue to request and manage its API keys.</p>
${ends}${fault === null ? form : html`<p class="note">${fault}</p>`}</div>`,
  };
}

/** `POST /developers/enter`: signs in the owner for whom the backend made the ticket. Throws `not_found` and `no_sign_in`. */
export async function enter(context: PageContext): Promise<Outcome> {
  const { deps, form, client } = context;
  if (signInFault(context) !== null) throw new AppError('no_sign_in');
  const ticket = oneValue(form, 'ticket');
  const token = await context.write(() => enterHandOver(deps, ticket, client));
  return finishSignIn(context, { kind: 'owner', token }, '/developers/keys');
}
