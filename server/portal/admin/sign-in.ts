import { whenUnlocked } from '../../../shared/db/write.ts';
import { AppError } from '../../../shared/errors.ts';
import { beginPasskeySignIn, signInByPasskey } from '../../../shared/sign-in/passkeys.ts';
import { logoOf } from '../../frame/frame.ts';
import { html } from '../../html.ts';
import { errorSummary, type Faults, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { PASSKEY_SCRIPTS, passkeyFault, passkeyForm } from '../passkeys/passkey-form.ts';
import { notePage } from '../requests/answers.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { finishSignIn, nextOf, whySignIn, withNext } from '../requests/session.ts';

const TITLE = 'Sign in as an admin';

const PATH = '/developers/admin/sign-in';

/** `GET /developers/admin/sign-in`: a button that asks for a passkey, or why passkeys can't be used here. */
export function adminSignInPage(context: PageContext): Page {
  return show(context, NO_FAULTS);
}

/**
 * `POST /developers/admin/sign-in`: without a credential, asks for the passkey; with one, signs the admin in and replaces the
 * browser's session, if it has one.
 */
export async function adminSignIn(context: PageContext): Promise<Outcome> {
  const { deps, form, client } = context;
  if (passkeyFault(context) !== null) return { ...show(context, NO_FAULTS), refusal: 'no_sign_in' };
  const credential = oneValue(form, 'credential');
  if (credential === '') return ask(context);
  try {
    const token = await signInByPasskey(deps, credential, client, context.waitUntilMs);
    return finishSignIn(context, { kind: 'admin', token }, nextOf(context) || '/developers/admin');
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'forbidden') throw error;
    return { ...show(context, new Map([['', error.message]])), refusal: 'forbidden' };
  }
}

async function ask(context: PageContext): Promise<Page> {
  const { deps, config, to } = context;
  const options = await whenUnlocked(deps.db.$client, () => beginPasskeySignIn(deps), context.waitUntilMs);
  return {
    title: TITLE,
    scripts: PASSKEY_SCRIPTS,
    body: html`<div class="card alone">${logoOf(config)}<h1>${TITLE}</h1>
<p id="asking" hidden>Your browser is asking for your passkey.</p>
${passkeyForm({
  action: to(PATH),
  button: 'Use a passkey',
  parts: [hiddenField('next', nextOf(context))],
  options,
})}</div>`,
  };
}

function show(context: PageContext, faults: Faults): Page {
  const { config, to } = context;
  const fault = passkeyFault(context);
  if (fault !== null) return notePage(TITLE, fault);
  return {
    title: TITLE,
    body: html`<form class="card alone" method="post" action="${to(PATH)}" novalidate>
${logoOf(config)}${errorSummary(faults)}<h1>${TITLE}</h1>${whySignIn(context)}
<p class="soft">With the passkey on your device or security key.</p>${hiddenField('next', nextOf(context))}
<button class="filled">Sign in with a passkey</button>
<p class="soft">Do you own a profile? <a href="${to(withNext('/developers/sign-in', nextOf(context)))}">Sign in by e-mail</a></p></form>`,
  };
}
