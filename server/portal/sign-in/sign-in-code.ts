import { enterCode } from '../../../shared/sign-in/codes.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { errorSummary, type Faults, formTo, hiddenField, NO_FAULTS, textField } from '../html/fields.ts';
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
export function signIn(context: PageContext): Outcome {
  const { access, cookie, isBehindUnknownProxy, form, client } = context;
  const { config } = access;
  if (signInFault(config, isBehindUnknownProxy) !== null) {
    return { ...show(context, '', NO_FAULTS), refusal: 'no_sign_in' };
  }
  const code = oneValue(form, 'code');
  const entered = enterCode(access, { browserSecret: readCookie(config, cookie, 'sign-in'), code, client });
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

function show(context: PageContext, typed: string, faults: Faults): Page {
  const { config } = context.access;
  const title = 'Enter the code';
  const again = publicPath(config, withNext('/developers/sign-in', nextOf(context)));
  return {
    title,
    body: html`${errorSummary(faults)}<h1>${title}</h1>
<p>If your username and e-mail address match, a code is on its way to you. It works once, for 10 minutes, in this browser.</p>
${formTo(
  publicPath(config, '/developers/sign-in/code'),
  'Sign in',
  textField({
    name: 'code',
    label: 'Code',
    hint: 'Eight letters and digits, such as 7Q2M-X0A1. O counts as 0, and I as 1.',
    value: typed,
    autocomplete: 'one-time-code',
    isFirst: true,
    size: 'short',
    faults,
  }),
  hiddenField('next', nextOf(context)),
)}
<h2>No e-mail?</h2>
<p>Nothing after a minute? Check your spam folder, or <a href="${again}">start again</a> and check both fields. We send at most 3 codes an hour; one that you already have works in this browser until its 10 minutes are over.</p>`,
  };
}
