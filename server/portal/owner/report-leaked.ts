import { WITH_SECRET } from '../../../shared/keys/key.ts';
import { revokeLeakedKeys } from '../../../shared/keys/life.ts';
import { html } from '../../html.ts';
import { errorSummary, type Faults, formTo, NO_FAULTS, textArea } from '../html/fields.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';

/** `GET /developers/found`: the form for reporting a found secret, without signing in. */
export function foundPage(context: PageContext): Page {
  return askForSecret(context, NO_FAULTS);
}

function askForSecret({ to }: PageContext, faults: Faults): Page {
  const field = textArea({
    name: 'secret',
    label: 'The secret, or text that contains it',
    hint: 'Secrets begin with plk_.',
    value: '',
    rows: 4,
    faults,
  });
  return {
    title: 'Found a secret?',
    body: html`<div class="ask stack">${errorSummary(faults)}<h1>Found a secret?</h1>
<p class="text">Paste the secret of an API key that you found in a repository, a log or a screenshot. If it belongs to an ${WITH_SECRET} key, that key is revoked at once, and its owner and the admins are notified. Nothing you paste is stored, and you don’t have to say who you are.</p>
${formTo(to('/developers/found'), { text: 'Revoke it', isDangerous: true, cancel: to('/developers') }, field)}</div>`,
  };
}

/**
 * `POST /developers/found`: revokes the keys whose secrets are in the text. The response is the same for every text. Guesses of
 * secrets are limited by the route.
 */
export async function reportLeaked(context: PageContext): Promise<Outcome> {
  const { deps, form, write } = context;
  const text = oneValue(form, 'secret');
  if (text.trim() === '') {
    const faults = new Map([['secret', 'Paste the secret that you found.']]);
    return { ...askForSecret(context, faults), refusal: 'refused_form' };
  }
  await write(() => revokeLeakedKeys(deps, text));
  return { seeOther: '/developers/found', flash: 'found' };
}
