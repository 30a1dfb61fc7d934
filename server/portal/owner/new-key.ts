import type { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { FIELDS, KEY_REQUEST } from '../../../shared/keys/fields.ts';
import { prefillAgain, prefillFrom } from '../../../shared/keys/grant.ts';
import { factsOf, typedText } from '../../../shared/keys/inputs.ts';
import { checkProfile } from '../../../shared/keys/life.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html, userText } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import script from '../html/count.browser.js' with { type: 'text' };
import { errorSummary, type Faults, type FieldState, formTo, inputField, NO_FAULTS } from '../html/fields.ts';
import { limitText } from '../html/key-facts.ts';
import { doneAt, notePage } from '../requests/answers.ts';
import { allValues, queryValue } from '../requests/form.ts';
import { performFor, performForm } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { whyEnded } from './key-state.ts';
import { crumbs, holderList, isFull, keysInUse, ownKeyPath, ownProfile, usedText } from './own-profile.ts';

/** The inputs of the operation, and their schemas. */
const INPUTS = Object.entries({ ...KEY_REQUEST.shape, successorOf: FIELDS.successorOf });

/** What is filled in, by the names of the inputs. */
type Filled = Readonly<Record<string, unknown>>;

/**
 * `GET /developers/keys/new`: the form for requesting a key. `?successor-of=` fills it in from the key to replace, `?like=`
 * from an ended one. If all slots are taken, lists the keys that take them. Throws `not_found`, and `refused` if the key to
 * replace is not Active or the other one has not ended.
 */
export async function newKeyPage(context: PageContext): Promise<Page> {
  const inUse = await ownInUse(context);
  if (isFull(inUse)) return fullPage(context, inUse);
  const hindrance = hindranceOf(context);
  if (hindrance !== null) return notePage('Request a key', hindrance, { where: 'API keys' });
  const [successorOf, like] = [queryValue(context, 'successor-of'), queryValue(context, 'like')];
  const identifier = successorOf === '' ? like : successorOf;
  if (identifier === '') return show(context, { permissions: ['api.lookup'] }, NO_FAULTS);
  const { key, history } = await performFor(context, OPERATIONS.show, { identifier });
  if (successorOf !== '') return show(context, { ...prefillFrom(key), successorOf }, NO_FAULTS);
  const link = html`“<a href="${ownKeyPath(context)(identifier)}">${userText(key.name)}</a>”`;
  return show(context, prefillAgain(key), NO_FAULTS, whyEnded(key, history, link));
}

async function ownInUse(context: PageContext): Promise<KeyView[]> {
  return keysInUse((await performFor(context, OPERATIONS.list, {})).keys);
}

function fullPage(context: PageContext, inUse: readonly KeyView[]): Page {
  const title = 'Request a key';
  return {
    title,
    where: 'API keys',
    body: html`${crumbs(context)}<h1>${title}</h1>
<p>${usedText(inUse)}, requests included. Revoke or withdraw one to request another:</p>
${holderList(context, inUse)}`,
  };
}

/** Why this profile can't request a key right now; null if it can. */
function hindranceOf(context: PageContext): string | null {
  try {
    checkProfile(context.access, ownProfile(context).id);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'refused' && error.details.cause === undefined)
      return error.message;
    throw error;
  }
}

/** `POST /developers/keys/new`: requests the key and redirects to its page, or shows the form again with its errors. */
export function sendRequest(context: PageContext): Promise<Outcome> {
  return performForm(context, OPERATIONS.request, INPUTS, {
    about: { profile: ownProfile(context).username },
    done: ({ identifier }) => doneAt(`/developers/keys/${identifier}`, OPERATIONS.request),
    show: (faults) => show(context, null, faults),
  });
}

/** The form with what is filled in, or with what was typed if it was refused; `why` the key that it repeats has ended. */
async function show(context: PageContext, filled: Filled | null, faults: Faults, why = html``): Promise<Page> {
  const textsOf = (name: string, schema: z.ZodType) =>
    filled === null ? allValues(context.form, name) : typedText(factsOf(schema).kind, filled[name]);
  const [successorOf = ''] = textsOf('successorOf', FIELDS.successorOf);
  const title = successorOf === '' ? 'Request a key' : 'Replace a key';
  const path = (rest: string) => publicPath(context.access.config, `/developers/keys${rest}`);
  const { button } = OPERATIONS.request.texts;
  const cancel = path(successorOf === '' ? '' : `/${successorOf}`);
  const usual = context.access.config.defaultRateLimits.map(limitText).join(', ');
  const asked: Asked = {
    ...ASKED,
    expectedUsage: { hint: `How many requests a day, and when? Usual: ${usual}. If you need more, say why.` },
  };
  const fields = INPUTS.map(([name, schema]) => {
    return inputField(name, schema, { texts: textsOf(name, schema), faults, ...asked[name] });
  });
  return {
    title,
    where: 'API keys',
    scripts: [script],
    body: html`${crumbs(context)}<div class="ask stack">${errorSummary(faults)}<div><h1>${title}</h1><p class="soft">${await introduction(context)}</p></div>
${successorOf === '' ? '' : await replacing(context, successorOf)}${why}
${formTo(path('/new'), { text: button, cancel }, ...fields)}</div>`,
  };
}

async function introduction(context: PageContext): Promise<string> {
  return `An admin reads this and answers by e-mail. ${usedText(await ownInUse(context))}.`;
}

async function replacing(context: PageContext, identifier: string): Promise<Html> {
  const name = (await ownInUse(context)).find((key) => key.identifier === identifier)?.name;
  const old =
    name === undefined
      ? html`<code>${identifier}</code>`
      : html`“<a href="${ownKeyPath(context)(identifier)}">${userText(name)}</a>”`;
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
