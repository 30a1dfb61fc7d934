import type { Person } from '../../../shared/actor.ts';
import { findAdmin, viewOf } from '../../../shared/admins/admins.ts';
import { AppError } from '../../../shared/errors.ts';
import { beginDecisions, consumeAssertion } from '../../../shared/passkeys/assertions.ts';
import type { Decision } from '../../../shared/passkeys/decision.ts';
import { listPasskeys, removePasskey } from '../../../shared/passkeys/passkeys.ts';
import type { SignedAdmin } from '../../../shared/sessions-file/whose.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { errorSummary, type Faults, NO_FAULTS } from '../html/fields.ts';
import { credentialIn, PASSKEY_SCRIPTS, passkeyForm } from '../passkeys/passkey-form.ts';
import { removeCookie } from '../requests/cookies.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { signedAdmin } from '../sign-in/signed-in.ts';
import { describe } from './people.ts';

/**
 * `POST /developers/admin/people/passkeys/:id/remove`: without a credential, shows the passkey to remove and asks for one to
 * confirm it; with a credential for exactly this, removes it and ends all sessions of this admin, this one too. Throws
 * `not_found`, and `refused` for the last passkey.
 */
export async function removeOwnPasskey(context: PageContext): Promise<Outcome> {
  const { access, form, params } = context;
  const signed = signedAdmin(context);
  const { name } = findAdmin(access.db, signed.name);
  const passkey = listPasskeys(access.db, name).find(({ id }) => String(id) === params.id);
  if (passkey === undefined) throw new AppError('not_found', 'You have no such passkey.');
  const decision: Decision = { operation: 'remove passkey', input: { identifier: String(passkey.id) }, shown: '' };
  const show = (faults: Faults) => ask(context, signed, decision, viewOf(passkey), faults);
  const credential = credentialIn(form);
  if (credential === null) return show(NO_FAULTS);
  try {
    const { people } = await consumeAssertion(access, signed, credential, [decision], context.waitUntilMs);
    removePasskey(access, people[0] as Person, passkey.id);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'forbidden') throw error;
    return { ...show(new Map([['', error.message]])), refusal: 'forbidden' };
  }
  return {
    seeOther: '/developers/admin/sign-in',
    flash: 'passkey-removed',
    cookies: [removeCookie(access.config, 'session')],
  };
}

function ask(
  context: PageContext,
  signed: SignedAdmin,
  decision: Decision,
  passkey: Parameters<typeof describe>[0],
  faults: Faults,
): Page {
  const { access } = context;
  const title = 'Remove a passkey?';
  const people = publicPath(access.config, '/developers/admin/people');
  return {
    title,
    where: 'People',
    scripts: PASSKEY_SCRIPTS,
    body: html`${errorSummary(faults)}<h1>${title}</h1>
<p>${describe(passkey, access.clock.nowMs())}</p>
<p>It will no longer work here. All your sessions end, including this one, because whoever has that passkey may have started one. Afterwards, sign in again with another passkey.</p>
${passkeyForm({
  action: `${people}/passkeys/${passkey.id}/remove`,
  button: { text: 'Confirm with my passkey', isDangerous: true, cancel: people },
  parts: [],
  passkey: 'get',
  options: beginDecisions(access, signed, [decision]),
})}`,
  };
}
