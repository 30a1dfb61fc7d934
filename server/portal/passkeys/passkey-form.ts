import { AppError } from '../../../shared/errors.ts';
import type { AssertionOptions, RegistrationOptions } from '../../../shared/sign-in/passkeys.ts';
import { relyingPartyOf } from '../../../shared/sign-in/webauthn.ts';
import { type Html, html } from '../../html.ts';
import { type Button, buttonLine, hiddenField } from '../html/fields.ts';
import { type Form, oneValue } from '../requests/form.ts';
import type { PageContext } from '../requests/request-context.ts';
import { signInFault } from '../requests/session.ts';
import script from './passkey.browser.js' with { type: 'text' };

// Forms that are confirmed with a passkey. The response to the first POST of such a form is a page with a challenge, whose
// script sends the form again with the passkey's response.

/** The scripts of a page with a {@link passkeyForm}. */
export const PASSKEY_SCRIPTS: readonly string[] = [script];

/** The credential of a form, as JSON; null if it was sent without, to get a challenge. */
export function credentialIn(form: Form): string | null {
  return oneValue(form, 'credential') || null;
}

/** A note that is shown until the page's script hides it. */
export const WITHOUT_SCRIPT: Html = html`<p class="note" id="without-script">Passkeys need JavaScript: enable it for this page, then reload.</p>`;

/** A form that its script sends with a passkey. `isAtOnce`: the script does not wait for the button. */
export type PasskeyForm = {
  action: string;
  button: Button;
  parts: readonly Html[];
  isAtOnce?: boolean;
} & ({ passkey: 'create'; options: RegistrationOptions } | { passkey: 'get'; options: AssertionOptions });

/** The HTML of such a form; its page needs {@link PASSKEY_SCRIPTS}. */
export function passkeyForm({ action, button, parts, isAtOnce, passkey, options }: PasskeyForm): Html {
  return html`<form method="post" action="${action}" novalidate data-passkey="${passkey}" data-options="${JSON.stringify(options)}" data-at-once="${isAtOnce ? 'yes' : 'no'}">${WITHOUT_SCRIPT}
<p class="summary" id="passkey-fault" role="alert" hidden></p>${parts}${hiddenField('credential', '')}${buttonLine(button)}</form>`;
}

/** Why passkeys can't be used, because of the configuration or how the request arrived; null if they can. */
export function passkeyFault({ access: { config }, isBehindUnknownProxy }: PageContext): string | null {
  const fault = signInFault(config, isBehindUnknownProxy);
  if (fault !== null) return fault;
  try {
    relyingPartyOf(config.publicUrl);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'refused') return error.message;
    throw error;
  }
}
