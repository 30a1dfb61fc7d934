import { AppError } from '../../../shared/errors.ts';
import type { AssertionOptions } from '../../../shared/passkeys/assertions.ts';
import type { RegistrationOptions } from '../../../shared/passkeys/registration.ts';
import { relyingPartyOf } from '../../../shared/passkeys/relying-party.ts';
import { type Html, html, raw } from '../../html.ts';
import { type Button, buttonLine, hiddenField } from '../html/fields.ts';
import { signInFault } from '../requests/cookies.ts';
import { type Form, oneValue } from '../requests/form.ts';
import type { Visit } from '../requests/request-context.ts';
import script from './passkey.browser.js' with { type: 'text' };

// Forms that are sent with a passkey. The server answers the first POST of such a form with a page that has a challenge, and
// the script of that page sends the form again with what the passkey says to it.

/** The field that a script fills in with the JSON of a credential; it is worth nothing a second time, and never shown. */
export const PASSKEY_FIELD = { credential: 'used up' } as const;

/** The scripts of a page with a {@link passkeyForm}. */
export const PASSKEY_SCRIPTS: readonly string[] = [script];

/** What a passkey has said, as JSON; null where the form was sent without, and asks for a challenge. */
export function credentialIn(form: Form): string | null {
  return oneValue(form, 'credential') || null;
}

/** What is shown until a script of the page hides it. */
export const WITHOUT_SCRIPT: Html = html`<p class="note" id="without-script">Passkeys need JavaScript: allow it for this page, and load the page anew.</p>`;

/**
 * A form that its script sends with a passkey. `isAtOnce`: the script does not wait for the button. `sticks`: the form stays
 * at the bottom of the window while what it is about is read above it.
 */
export type PasskeyForm = {
  action: string;
  button: Button;
  parts: readonly Html[];
  isAtOnce?: boolean;
  sticks?: boolean;
} & ({ passkey: 'create'; options: RegistrationOptions } | { passkey: 'get'; options: AssertionOptions });

/** Lays out such a form; the page needs {@link PASSKEY_SCRIPTS} too. */
export function passkeyForm({ action, button, parts, isAtOnce, sticks, passkey, options }: PasskeyForm): Html {
  return html`<form${raw(sticks ? ' class="bar"' : '')} method="post" action="${action}" novalidate data-passkey="${passkey}" data-options="${JSON.stringify(options)}" data-at-once="${isAtOnce ? 'yes' : 'no'}">${WITHOUT_SCRIPT}
<p class="summary" id="passkey-fault" role="alert" hidden></p>${parts}${hiddenField('credential', '')}${buttonLine(button)}</form>`;
}

/** Why nobody can use a passkey here, by the configuration or by how the request came; null where it works. */
export function passkeyFault({ access: { config }, isForwardedUnasked }: Visit): string | null {
  const fault = signInFault(config, isForwardedUnasked);
  if (fault !== null) return fault;
  try {
    relyingPartyOf(config.publicUrl);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'refused') return error.message;
    throw error;
  }
}
