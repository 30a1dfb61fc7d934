import { beginRegistration, readEnrolment } from '../../../shared/sign-in/passkeys.ts';
import { logoOf } from '../../frame/frame.ts';
import { html } from '../../html.ts';
import { errorSummary, type Faults, formTo, hiddenField } from '../html/fields.ts';
import { timeText } from '../html/time.ts';
import enrolScript from '../passkeys/enrol.browser.js' with { type: 'text' };
import {
  PASSKEY_SCRIPTS,
  passkeyFault,
  passkeyForm,
  passkeyName,
  registerPasskey,
  WITHOUT_SCRIPT,
} from '../passkeys/passkey-form.ts';
import { notePage } from '../requests/answers.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';

const TITLE = 'Register a passkey';

/**
 * `GET /developers/enrol`: the page of the link that `profilectl admins add` prints. The link's secret is in the URL fragment,
 * so the server doesn't receive it until the page's script sends it with the form.
 */
export function enrolPage(context: PageContext): Page {
  const { config, to } = context;
  const fault = passkeyFault(context);
  if (fault !== null) return notePage(TITLE, fault);
  return {
    title: TITLE,
    scripts: [enrolScript],
    body: html`<div class="card alone">${logoOf(config)}<h1>${TITLE}</h1>
${WITHOUT_SCRIPT}
<p class="note" id="missing" hidden>This link is incomplete: open the one that you were sent, including everything after the #.</p>
<div id="whole" class="stack" hidden><p>You were sent this link to become an admin of this service. Nothing happens until you continue.</p>
${formTo(to('/developers/enrol'), 'Continue', hiddenField('secret', ''))}</div></div>`,
  };
}

/**
 * `POST /developers/enrol`: without a credential, shows whom the link is for and asks them to create a passkey; with one, registers
 * the passkey. Throws `forbidden` for a link that does not work.
 */
export async function enrol(context: PageContext): Promise<Outcome> {
  if (passkeyFault(context) !== null) return { ...enrolPage(context), refusal: 'no_sign_in' };
  const secret = oneValue(context.form, 'secret');
  const ask = (name: string, faults: Faults) => askToCreate(context, secret, name, faults);
  return registerPasskey(context, secret, ask, { seeOther: '/developers/admin/sign-in', flash: 'passkey-registered' });
}

function askToCreate({ deps, config, to }: PageContext, secret: string, name: string, faults: Faults): Page {
  const { admin, expiresAtMs } = readEnrolment(deps, secret);
  return {
    title: TITLE,
    scripts: PASSKEY_SCRIPTS,
    body: html`<div class="card alone">${logoOf(config)}${errorSummary(faults)}<h1>${TITLE}</h1>
<p>For the admin <strong><bdi>${admin.name}</bdi></strong>. This link works once, until ${timeText(expiresAtMs)}.</p>
<p>You sign in with a passkey. It stays on your device or security key, which asks for a PIN, a fingerprint or similar each time.</p>
${passkeyForm({
  action: to('/developers/enrol'),
  button: 'Create a passkey',
  parts: [passkeyName(name, faults), hiddenField('secret', secret)],
  options: beginRegistration(deps, secret),
})}</div>`,
  };
}
