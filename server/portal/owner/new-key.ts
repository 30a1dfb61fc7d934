import type { z } from 'zod';
import { FIELDS, KEY_REQUEST } from '../../../shared/keys/fields.ts';
import { prefillAgain, prefillFrom } from '../../../shared/keys/grant.ts';
import { factsOf, typedText } from '../../../shared/keys/inputs.ts';
import { checkProfile } from '../../../shared/keys/life.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html } from '../../html.ts';
import script from '../html/count.browser.js' with { type: 'text' };
import {
  errorSummary,
  type Faults,
  type FieldState,
  formTo,
  hiddenField,
  inputField,
  NO_FAULTS,
} from '../html/fields.ts';
import { limitText, stateTag } from '../html/key-facts.ts';
import { doneAt, notePage } from '../requests/answers.ts';
import { allValues, oneValue, queryValue } from '../requests/form.ts';
import { performFor, performForm, ruleSentence } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { whyEnded } from './key-state.ts';
import { crumbs, isFull, ownKeyLink, ownKeys, ownProfile, usedText } from './own-profile.ts';

/** The inputs of the operation, and their schemas. */
const INPUTS = Object.entries({ ...KEY_REQUEST.shape, successorOf: FIELDS.successorOf });

/** What is filled in, by the names of the inputs. */
type Filled = Readonly<Record<string, unknown>>;

/**
 * `GET /developers/keys/new`: the form for requesting a key. `?successor-of=` fills it in from the key to replace, `?like=`
 * from an ended one. If all places are taken, lists the keys that take them. Throws `not_found`, and `refused` if the key to
 * replace is not Active or the other one has not ended.
 */
export async function newKeyPage(context: PageContext): Promise<Page> {
  const { inUse } = await ownKeys(context);
  if (isFull(inUse)) return fullPage(context, inUse);
  const hindrance = hindranceOf(context);
  if (hindrance !== null) {
    const page = notePage(TITLE, hindrance, { where: 'API keys' });
    return { ...page, body: html`${crumbs(context)}${page.body}` };
  }
  const [successorOf, like] = [queryValue(context, 'successor-of'), queryValue(context, 'like')];
  const identifier = successorOf === '' ? like : successorOf;
  if (identifier === '') return show(context, { permissions: ['api.lookup'] }, NO_FAULTS);
  const { key, history } = await performFor(context, OPERATIONS.show, { identifier });
  if (successorOf !== '') return show(context, { ...prefillFrom(key), successorOf }, NO_FAULTS);
  return show(context, prefillAgain(key), NO_FAULTS, whyEnded(key, history, html`“${ownKeyLink(context, key)}”`));
}

const TITLE = 'Request a key';

/** Lists the keys that take the places, with links to their pages, where they can be ended. */
function fullPage(context: PageContext, inUse: readonly KeyView[]): Page {
  const items = inUse.map((key) => {
    return html`<li class="line">${ownKeyLink(context, key)}${stateTag(key)}</li>`;
  });
  return {
    title: TITLE,
    where: 'API keys',
    body: html`${crumbs(context)}<div class="ask stack"><div><h1>${TITLE}</h1><p class="soft">${usedText(inUse)}, requests included. Revoke or withdraw one on its page to request another.</p></div>
<ul class="list">${items}</ul></div>`,
  };
}

/** Why this profile can't request a key right now; null if it can. */
function hindranceOf(context: PageContext): string | null {
  try {
    checkProfile(context.deps, ownProfile(context).id);
    return null;
  } catch (error) {
    const rule = ruleSentence(error);
    if (rule === null) throw error;
    return rule;
  }
}

/** `POST /developers/keys/new`: requests the key and redirects to its page, or shows the form again with its errors. */
export async function sendRequest(context: PageContext): Promise<Outcome> {
  const { id, username } = ownProfile(context);
  // Somebody with two profiles may have signed in with the other one in another tab.
  const askedFor = oneValue(context.form, FOR);
  if (askedFor !== '' && askedFor !== String(id)) {
    const sentence = `You opened this form with another profile, so nothing was done. Send it again to request the key for ${username}.`;
    return { ...(await show(context, null, new Map([['', sentence]]))), refusal: 'changed_since' };
  }
  return performForm(context, OPERATIONS.request, INPUTS, {
    about: { profile: username },
    done: ({ identifier }) => doneAt(`/developers/keys/${identifier}`, OPERATIONS.request),
    show: (faults) => show(context, null, faults),
  });
}

/** The field with the UID of the profile for which the form was opened. */
const FOR = 'for';

/** The form with what is filled in, or with what was typed if it was refused; `why` the key that it repeats has ended. */
async function show(context: PageContext, filled: Filled | null, faults: Faults, why = html``): Promise<Page> {
  const textsOf = (name: string, schema: z.ZodType) =>
    filled === null ? allValues(context.form, name) : typedText(factsOf(schema).kind, filled[name]);
  const [successorOf = ''] = textsOf('successorOf', FIELDS.successorOf);
  const title = successorOf === '' ? TITLE : 'Replace a key';
  const path = context.to('/developers/keys');
  const cancel = successorOf === '' ? path : `${path}/${successorOf}`;
  const { inUse } = await ownKeys(context);
  const usual = context.config.defaultRateLimits.map(limitText).join(', ');
  const asked: Asked = {
    ...ASKED,
    expectedUsage: { hint: `How many requests a day, and when? Usual: ${usual}. If you need more, say why.` },
  };
  const fields = INPUTS.map(([name, schema], at) => {
    const isFirst = at === 0 && faults.size === 0;
    return inputField(name, schema, { texts: textsOf(name, schema), faults, isFirst, ...asked[name] });
  });
  return {
    title,
    where: 'API keys',
    scripts: [script],
    body: html`${crumbs(context)}<div class="ask stack">${errorSummary(faults)}<div><h1>${title}</h1><p class="soft">An admin reads this and answers by e-mail. ${usedText(inUse)}.</p></div>
${successorOf === '' ? '' : replacing(context, successorOf, inUse)}${why}
${formTo(`${path}/new`, { text: OPERATIONS.request.texts.button, cancel }, hiddenField(FOR, String(ownProfile(context).id)), ...fields)}</div>`,
  };
}

function replacing(context: PageContext, identifier: string, inUse: readonly KeyView[]): Html {
  const key = inUse.find((one) => one.identifier === identifier);
  const old = key === undefined ? html`<code>${identifier}</code>` : html`“${ownKeyLink(context, key)}”`;
  return html`<p>The new key will replace ${old}. Once it is approved, both work until the old one expires or is revoked, so you can move your program from one secret to the other. Update anything that has changed.</p>`;
}

/** The form's own texts for its fields. */
type Asked = Readonly<Record<string, Pick<FieldState, 'title' | 'hint' | 'more'>>>;

const ASKED: Asked = {
  name: { hint: 'Only you and the admins see it.' },
  description: {
    title: 'What does your program do, for whom, and what data does it keep?',
    hint: 'Two sentences or more: admins base their decision on this.',
    more: html`<details><summary class="soft">A good example</summary><p class="soft">“A Discord bot for our guild of 4\u202f200 members. When somebody types /badges, it looks up that one profile and shows its badges in the chat. It caches the response for ten minutes and stores nothing else.”</p></details>`,
  },
  permissions: { title: 'Your program needs to', hint: null },
  projectUrl: { hint: null },
};
