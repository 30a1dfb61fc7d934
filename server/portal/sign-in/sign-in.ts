import { requestCode } from '../../../shared/sign-in/codes.ts';
import { LIFETIMES_MS } from '../../../shared/sign-in/tickets.ts';
import { logoOf } from '../../frame/frame.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { errorSummary, type Faults, hiddenField, NO_FAULTS, textField } from '../html/fields.ts';
import { notePage } from '../html/note-page.ts';
import { ownerSignInFault, readCookie, setCookie } from '../requests/cookies.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { nextOf, whySignIn, withNext } from '../requests/return-path.ts';

/** `GET /developers/sign-in`: asks for username and e-mail address, or says why signing in is impossible. */
export function signInPage(context: PageContext): Page {
  return show(context, { name: '', address: '' }, NO_FAULTS);
}

/**
 * `POST /developers/sign-in`: e-mails a code after the response, which redirects to the page for entering it. The response is
 * the same whether or not username and address match.
 */
export function askForCode(context: PageContext): Outcome {
  const { access, cookie, form, client, services } = context;
  const { config } = access;
  const typed = { name: oneValue(form, 'name').trim(), address: oneValue(form, 'address').trim() };
  if (faultOf(context) !== null) return { ...show(context, typed, NO_FAULTS), refusal: 'no_sign_in' };
  const faults = new Map<string, string>();
  if (typed.name === '') faults.set('name', 'Enter your username or an alias.');
  if (!typed.address.includes('@')) faults.set('address', 'Enter your e-mail address, such as name@example.org.');
  if (faults.size > 0) return { ...show(context, typed, faults), refusal: 'refused_form' };
  const former = readCookie(config, cookie, 'sign-in');
  const { browserSecret, mail } = requestCode(access, services.codes, { ...typed, browserSecret: former, client });
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
      if (fault !== null) services.report('warn', fault);
    },
  };
}

function faultOf({ access: { config }, isBehindUnknownProxy }: PageContext): string | null {
  return ownerSignInFault(config, isBehindUnknownProxy);
}

function show(context: PageContext, typed: { name: string; address: string }, faults: Faults): Page {
  const { config } = context.access;
  const fault = faultOf(context);
  const title = 'Sign in';
  const admins = html`<p class="soft">Admin? <a href="${publicPath(config, withNext('/developers/admin/sign-in', nextOf(context)))}">Sign in with a passkey</a>.</p>`;
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
    body: html`<form class="card alone" method="post" action="${publicPath(config, '/developers/sign-in')}" novalidate>
${logoOf(config)}${errorSummary(faults)}<h1>${title}</h1>${whySignIn(context)}
<p class="soft">Enter your username and the e-mail address of that profile. If they match, we mail you a code.</p>
${fields}<button class="filled">Send me a code</button>${admins}</form>`,
  };
}
