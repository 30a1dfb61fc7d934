import { AppError } from '../../../shared/errors.ts';
import { beginRegistration, readEnrolment, register } from '../../../shared/sign-in/passkeys.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { errorSummary, type Faults, formTo, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { timeText } from '../html/time.ts';
import enrolScript from '../passkeys/enrol.browser.js' with { type: 'text' };
import { credentialIn, PASSKEY_SCRIPTS, passkeyFault, passkeyForm, WITHOUT_SCRIPT } from '../passkeys/passkey-form.ts';
import { notePage } from '../requests/answers.ts';
import { oneValue } from '../requests/form.ts';
import { ruleSentence } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { passkeyName } from './people.ts';

const TITLE = 'Register a passkey';

/**
 * `GET /developers/enrol`: the page of the link that `profilectl admins add` prints. The link's secret is in the URL fragment,
 * so the server doesn't receive it until the page's script sends it with the form.
 */
export function enrolPage(context: PageContext): Page {
  const { config } = context.access;
  const fault = passkeyFault(context);
  if (fault !== null) return notePage(TITLE, fault);
  return {
    title: TITLE,
    scripts: [enrolScript],
    body: html`<div class="ask stack"><h1>${TITLE}</h1>
${WITHOUT_SCRIPT}
<p class="note" id="missing" hidden>This link is incomplete: open the one that you were sent, with everything after the #.</p>
<div id="whole" class="stack" hidden><p>You were sent this link to become an admin of this service. Nothing happens until you continue.</p>
${formTo(publicPath(config, '/developers/enrol'), 'Continue', hiddenField('secret', ''))}</div></div>`,
  };
}

/**
 * `POST /developers/enrol`: without a credential, shows for whom the link is and asks to create a passkey; with one, registers
 * the passkey. Throws `forbidden` for a link that does not work.
 */
export async function enrol(context: PageContext): Promise<Outcome> {
  const { access, form, client } = context;
  if (passkeyFault(context) !== null) return { ...enrolPage(context), refusal: 'no_sign_in' };
  const secret = oneValue(form, 'secret');
  const name = oneValue(form, 'name');
  const credential = credentialIn(form);
  if (credential === null) return ask(context, { secret, name: 'My passkey' }, NO_FAULTS);
  try {
    await register(access, secret, { credential, name }, client, context.waitUntilMs);
    return { seeOther: '/developers/admin/sign-in', flash: 'passkey-registered' };
  } catch (error) {
    const sentence = ruleSentence(error);
    if (sentence !== null)
      return { ...ask(context, { secret, name }, new Map([['name', sentence]])), refusal: 'refused_form' };
    if (!(error instanceof AppError) || error.code !== 'forbidden') throw error;
    return { ...ask(context, { secret, name }, new Map([['', error.message]])), refusal: 'forbidden' };
  }
}

function ask(context: PageContext, { secret, name }: { secret: string; name: string }, faults: Faults): Page {
  const { access } = context;
  const enrolment = readEnrolment(access, secret);
  return {
    title: TITLE,
    scripts: PASSKEY_SCRIPTS,
    body: html`<div class="ask stack">${errorSummary(faults)}<h1>${TITLE}</h1>
<p>For the admin <strong><bdi>${enrolment.admin.name}</bdi></strong>. This link works once, until ${timeText(enrolment.expiresAtMs)}.</p>
<p>A passkey stays on your device or security key, which asks for a PIN, a fingerprint or similar each time. You sign in with it.</p>
${passkeyForm({
  action: publicPath(access.config, '/developers/enrol'),
  button: 'Create a passkey',
  parts: [passkeyName(name, faults), hiddenField('secret', secret)],
  passkey: 'create',
  options: beginRegistration(access, secret),
})}</div>`,
  };
}
