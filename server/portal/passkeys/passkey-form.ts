import { AppError, faultOf } from '../../../shared/errors.ts';
import { type AssertionOptions, type RegistrationOptions, register } from '../../../shared/sign-in/passkeys.ts';
import type { Session } from '../../../shared/sign-in/sessions.ts';
import { relyingPartyOf } from '../../../shared/sign-in/webauthn.ts';
import { type Html, html } from '../../html.ts';
import { type Button, buttonLine, type Faults, hiddenField, NO_FAULTS, textField } from '../html/fields.ts';
import { oneValue } from '../requests/form.ts';
import { ruleSentence } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { signInFault } from '../requests/session.ts';
import script from './passkey.browser.js' with { type: 'text' };

// Forms that are confirmed with a passkey. The response to the first POST of such a form is a page with a challenge, whose
// script sends the form again with the passkey's response, as JSON in the field `credential`.

/** The scripts of a page with a {@link passkeyForm}. */
export const PASSKEY_SCRIPTS: readonly string[] = [script];

/** A note that is shown until the page's script hides it. */
export const WITHOUT_SCRIPT: Html = html`<p class="note" id="without-script">Passkeys need JavaScript: enable it for this page, then reload.</p>`;

/** A form that its script sends with a passkey: with a new one after the button, with one that exists at once. */
type PasskeyForm = {
  action: string;
  button: Button;
  parts: readonly Html[];
  options: RegistrationOptions | AssertionOptions;
};

/** The HTML of such a form; its page needs {@link PASSKEY_SCRIPTS}. */
export function passkeyForm({ action, button, parts, options }: PasskeyForm): Html {
  const isNew = 'user' in options;
  return html`<form class="stack" method="post" action="${action}" novalidate data-passkey="${isNew ? 'create' : 'get'}" data-options="${JSON.stringify(options)}" data-at-once="${isNew ? 'no' : 'yes'}">${WITHOUT_SCRIPT}
<p class="summary" id="passkey-fault" role="alert" hidden></p>${parts}${hiddenField('credential', '')}${buttonLine(button)}</form>`;
}

/** The field for the name of a new passkey. */
export function passkeyName(value: string, faults: Faults): Html {
  return textField({
    name: 'name',
    label: 'Name of the passkey',
    hint: 'To recognise it later, such as “Laptop” or “Blue key”.',
    value,
    bounds: { min: 1, max: 64 },
    faults,
  });
}

/**
 * Registers the passkey of a form, at a link (its secret) or of the signed-in admin, and returns `done`. `ask` makes the page with
 * the form: for a form without a passkey, and with the errors of one that is refused.
 */
export async function registerPasskey(
  { deps, form, client, waitUntilMs }: PageContext,
  at: string | Session,
  ask: (name: string, faults: Faults) => Page,
  done: Outcome,
): Promise<Outcome> {
  const [credential, name] = [oneValue(form, 'credential'), oneValue(form, 'name')];
  if (credential === '') return ask('My passkey', NO_FAULTS);
  try {
    await register(deps, at, { credential, name }, client, waitUntilMs);
    return done;
  } catch (error) {
    const rule = ruleSentence(error);
    if (rule !== null) return { ...ask(name, new Map([['name', rule]])), refusal: 'refused_form' };
    if (!(error instanceof AppError) || error.code !== 'forbidden') throw error;
    return { ...ask(name, new Map([['', error.message]])), refusal: 'forbidden' };
  }
}

/** Why passkeys can't be used, because of the configuration or how the request arrived; null if they can. */
export function passkeyFault(context: PageContext): string | null {
  return signInFault(context) ?? faultOf(() => relyingPartyOf(context.config.publicUrl));
}
