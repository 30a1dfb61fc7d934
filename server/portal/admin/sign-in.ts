import { AppError } from '../../../shared/errors.ts';
import { beginPasskeySignIn, signInByPasskey } from '../../../shared/passkeys/assertions.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { errorSummary, type Faults, formTo, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { notePage } from '../html/note-page.ts';
import { credentialIn, PASSKEY_SCRIPTS, passkeyFault, passkeyForm } from '../passkeys/passkey-form.ts';
import type { Outcome, Page, Visit } from '../requests/request-context.ts';
import { nextOf, withNext } from '../requests/return-path.ts';
import { goOnSignedIn } from '../sign-in/signed-in.ts';

const TITLE = 'Sign in as an admin';

/** `GET /developers/admin/sign-in`: a button that asks for a passkey, or why that can't work here. */
export function adminSignInPage(visit: Visit): Page {
  return show(visit, NO_FAULTS);
}

/**
 * `POST /developers/admin/sign-in`: without a passkey's answer, asks for it; with one, signs that admin in, anew even where
 * somebody is signed in already.
 */
export async function adminSignIn(visit: Visit): Promise<Outcome> {
  const { access, form, client } = visit;
  if (passkeyFault(visit) !== null) return { ...show(visit, NO_FAULTS), refusal: 'no_sign_in' };
  const credential = credentialIn(form);
  if (credential === null) return ask(visit);
  try {
    const { token } = await signInByPasskey(access, credential, client);
    return goOnSignedIn(visit, { kind: 'admin', token }, nextOf(visit) || '/developers/admin');
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'forbidden') throw error;
    return { ...show(visit, new Map([['', error.message]])), refusal: 'forbidden' };
  }
}

function ask(visit: Visit): Page {
  const { access } = visit;
  return {
    title: TITLE,
    scripts: PASSKEY_SCRIPTS,
    body: html`<h1>${TITLE}</h1>
<p>Your browser is asking for your passkey.</p>
${passkeyForm({
  action: publicPath(access.config, '/developers/admin/sign-in'),
  button: 'Use a passkey',
  parts: [hiddenField('next', nextOf(visit))],
  isAtOnce: true,
  passkey: 'get',
  options: beginPasskeySignIn(access),
})}`,
  };
}

function show(visit: Visit, faults: Faults): Page {
  const { config } = visit.access;
  const fault = passkeyFault(visit);
  if (fault !== null) return notePage(TITLE, fault);
  return {
    title: TITLE,
    body: html`${errorSummary(faults)}<h1>${TITLE}</h1>
<p>For admins, with the passkey on your device or security key.</p>
${formTo(publicPath(config, '/developers/admin/sign-in'), 'Sign in with a passkey', hiddenField('next', nextOf(visit)))}
<p>Do you own a profile? <a href="${publicPath(config, withNext('/developers/sign-in', nextOf(visit)))}">Sign in with a code by e-mail</a>.</p>`,
  };
}
