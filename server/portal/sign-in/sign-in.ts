import { whenUnlocked } from '../../../shared/db/write.ts';
import { enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { LIFETIMES_MS } from '../../../shared/sign-in/tickets.ts';
import { parseJson } from '../../../shared/text.ts';
import { logoOf } from '../../frame/frame.ts';
import { html, userText } from '../../html.ts';
import { errorSummary, type Faults, hiddenField, NO_FAULTS, textField } from '../html/fields.ts';
import { notePage } from '../requests/answers.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import {
  finishSignIn,
  nextOf,
  ownerSignInFault,
  readCookie,
  setCookie,
  signInFault,
  whySignIn,
  withNext,
} from '../requests/session.ts';

/** `GET /developers/sign-in`: asks for username and e-mail address, or says why signing in is impossible. */
export function signInPage(context: PageContext): Page {
  return askWhom(context, { name: '', address: '' }, NO_FAULTS);
}

/**
 * `POST /developers/sign-in`: e-mails a code after the response, which redirects to the page for entering it. The response is
 * the same whether or not username and address match.
 */
export async function askForCode(context: PageContext): Promise<Outcome> {
  const { deps, config, form, client, service } = context;
  const typed = { name: oneValue(form, 'name').trim(), address: oneValue(form, 'address').trim() };
  if (ownerSignInFault(context) !== null) return { ...askWhom(context, typed, NO_FAULTS), refusal: 'no_sign_in' };
  const faults = new Map<string, string>();
  if (typed.name === '') faults.set('name', 'Enter your username or an alias.');
  if (!typed.address.includes('@')) faults.set('address', 'Enter your e-mail address, such as name@example.org.');
  if (faults.size > 0) return { ...askWhom(context, typed, faults), refusal: 'refused_form' };
  const former = readCookie(context, 'sign-in');
  const ask = () => requestCode(deps, service.codes, { ...typed, browserSecret: former, client });
  const { browserSecret, mail } = await whenUnlocked(deps.db.$client, ask, context.waitUntilMs);
  // For the next page, which repeats them. Browsers keep no cookie of more than 4 096 bytes.
  const shown = JSON.stringify([typed.name.slice(0, 64), typed.address.slice(0, 320)]);
  const seconds = LIFETIMES_MS.code / 1000;
  return {
    seeOther: withNext('/developers/sign-in/code', nextOf(context)),
    cookies: [
      setCookie(config, 'sign-in', browserSecret, seconds),
      setCookie(config, 'typed', Buffer.from(shown).toString('base64url'), seconds),
    ],
    after: async () => {
      const fault = await mail();
      if (fault !== null) service.log.event('warn', fault);
    },
  };
}

function askWhom(context: PageContext, typed: { name: string; address: string }, faults: Faults): Page {
  const { config, to } = context;
  const fault = ownerSignInFault(context);
  const title = 'Sign in';
  const admins = html`<p class="soft">Admin? <a href="${to(withNext('/developers/admin/sign-in', nextOf(context)))}">Sign in with a passkey</a>.</p>`;
  if (fault !== null) return notePage(title, fault, { below: admins });
  const fields = [
    textField({
      name: 'name',
      label: 'Username or alias',
      value: typed.name,
      autocomplete: 'username',
      isFirst: faults.size === 0,
      faults,
    }),
    textField({
      name: 'address',
      label: 'E-mail address',
      value: typed.address,
      type: 'email',
      autocomplete: 'email',
      faults,
    }),
    hiddenField('next', nextOf(context)),
  ];
  return {
    title,
    body: html`<form class="card alone" method="post" action="${to('/developers/sign-in')}" novalidate>
${logoOf(config)}${errorSummary(faults)}<h1>${title}</h1>${whySignIn(context)}
<p class="soft">Enter your username and the e-mail address of that profile. If they match, we mail you a code.</p>
${fields}<button class="filled">Send me a code</button>${admins}</form>`,
  };
}

/** `GET /developers/sign-in/code`: asks for the code from the mail. The same whether or not a mail was sent. */
export function codePage(context: PageContext): Page {
  return askCode(context, '', NO_FAULTS);
}

/** `POST /developers/sign-in/code`: signs in the owner whose code it is; replaces the browser's session, if it has one. */
export async function signIn(context: PageContext): Promise<Outcome> {
  const { deps, form, client } = context;
  if (signInFault(context) !== null) {
    return { ...askCode(context, '', NO_FAULTS), refusal: 'no_sign_in' };
  }
  const code = oneValue(form, 'code');
  const entry = { browserSecret: readCookie(context, 'sign-in'), code, client };
  const entered = await context.write(() => enterCode(deps, entry));
  if (!entered.isSignedIn) {
    return { ...askCode(context, code, new Map([['code', SENTENCES[entered.why]]])), refusal: 'refused_form' };
  }
  return finishSignIn(context, { kind: 'owner', token: entered.token }, nextOf(context) || '/developers/keys');
}

const SENTENCES = {
  malformed: 'Enter the code from the e-mail: eight letters and digits, such as 7Q2M-X0A1.',
  wrong:
    'This code does not work: it is mistyped, already used, older than 10 minutes, or was requested in another browser. After five tries you need a new one.',
} as const;

/** What was typed to request the code, which the browser remembers for its ten minutes; null if that is unknown. */
function typedIn(context: PageContext): { name: string; address: string } | null {
  const sent = parseJson(Buffer.from(readCookie(context, 'typed') ?? '', 'base64url').toString());
  const [name, address] = Array.isArray(sent) ? sent : [];
  return typeof name === 'string' && typeof address === 'string' ? { name, address } : null;
}

function askCode(context: PageContext, code: string, faults: Faults): Page {
  const { config, to } = context;
  const again = to(withNext('/developers/sign-in', nextOf(context)));
  const typed = typedIn(context);
  const about =
    typed === null
      ? html`<p>If your username and e-mail address belong together, a code is on its way.</p>`
      : html`<p>If <b>${userText(typed.name)}</b> and <b>${userText(typed.address)}</b> belong together, a code is on its way. <a href="${again}">Not right?</a></p>`;
  return {
    title: 'Enter the code',
    body: html`<form class="card alone" method="post" action="${to('/developers/sign-in/code')}" novalidate>
${logoOf(config)}${errorSummary(faults)}<h1>Check your mail</h1>
${about}
${textField({
  name: 'code',
  label: 'Code',
  hint: 'Eight letters and digits, good for 10 minutes, in this browser only.',
  value: code,
  autocomplete: 'one-time-code',
  isFirst: faults.size === 0,
  size: 'code',
  faults,
})}${hiddenField('next', nextOf(context))}
<button class="filled">Sign in</button>
<p class="soft">Nothing after a minute? Look in spam, or <a href="${again}">start again</a>. We send at most 3 codes an hour.</p></form>`,
  };
}
