import { whenFree } from '../../../shared/db/write.ts';
import { enterCode } from '../../../shared/sign-in/codes.ts';
import { parseJson } from '../../../shared/text.ts';
import { logoOf } from '../../frame/frame.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { errorSummary, type Faults, hiddenField, NO_FAULTS, textField } from '../html/fields.ts';
import { userText } from '../html/user-text.ts';
import { readCookie, signInFault } from '../requests/cookies.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { nextOf, withNext } from '../requests/return-path.ts';
import { finishSignIn } from './signed-in.ts';

/** `GET /developers/sign-in/code`: asks for the code from the mail. The same whether or not a mail was sent. */
export function codePage(context: PageContext): Page {
  return show(context, '', NO_FAULTS);
}

/** `POST /developers/sign-in/code`: signs in the owner whose code it is; replaces the browser's session, if it has one. */
export async function signIn(context: PageContext): Promise<Outcome> {
  const { access, cookie, isBehindUnknownProxy, form, client } = context;
  const { config } = access;
  if (signInFault(config, isBehindUnknownProxy) !== null) {
    return { ...show(context, '', NO_FAULTS), refusal: 'no_sign_in' };
  }
  const code = oneValue(form, 'code');
  const entry = { browserSecret: readCookie(config, cookie, 'sign-in'), code, client };
  const entered = await whenFree(access.db.$client, () => enterCode(access, entry), context.waitUntilMs);
  if (!entered.isSignedIn) {
    return { ...show(context, code, new Map([['code', SENTENCES[entered.why]]])), refusal: 'refused_form' };
  }
  return finishSignIn(context, { kind: 'owner', token: entered.token }, nextOf(context) || '/developers/keys');
}

const SENTENCES = {
  malformed: 'Enter the code from the e-mail: eight letters and digits, such as 7Q2M-X0A1.',
  wrong:
    'This code does not work: it is mistyped, already used, older than 10 minutes, or was requested in another browser. After five tries you need a new one.',
} as const;

/** What was typed to request the code, which the browser remembers for its ten minutes; null if that is unknown. */
function typedIn({ access: { config }, cookie }: PageContext): { name: string; address: string } | null {
  const sent = parseJson(Buffer.from(readCookie(config, cookie, 'typed') ?? '', 'base64url').toString());
  const [name, address] = Array.isArray(sent) ? sent : [];
  return typeof name === 'string' && typeof address === 'string' ? { name, address } : null;
}

function show(context: PageContext, code: string, faults: Faults): Page {
  const { config } = context.access;
  const again = publicPath(config, withNext('/developers/sign-in', nextOf(context)));
  const typed = typedIn(context);
  const about =
    typed === null
      ? html`<p>If your username and e-mail address belong together, a code is on its way.</p>`
      : html`<p>If <b>${userText(typed.name)}</b> and <b>${userText(typed.address)}</b> belong together, a code is on its way. <a href="${again}">Not right?</a></p>`;
  return {
    title: 'Enter the code',
    body: html`<form class="card alone" method="post" action="${publicPath(config, '/developers/sign-in/code')}" novalidate>
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
