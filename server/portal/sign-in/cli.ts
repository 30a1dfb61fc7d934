import { makeCliCode } from '../../../shared/sign-in/cli-codes.ts';
import { showCode } from '../../../shared/sign-in/code-text.ts';
import type { Session } from '../../../shared/sign-ins/row.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { hiddenField } from '../html/fields.ts';
import { factList } from '../html/key-facts.ts';
import { userText } from '../html/user-text.ts';
import { ownProfile } from '../owner/own-profile.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { type CliRequest, cliAnswer, cliParameters, readCliRequest } from './cli-request.ts';

/** `GET /developers/cli`: asks whether to allow a `profilectl` on another machine. Throws `bad_parameter`. */
export function cliPage(context: PageContext): Page {
  return show(
    context,
    readCliRequest((name) => context.query.get(name) ?? ''),
  );
}

/**
 * `POST /developers/cli`: allows or refuses the login, and returns the outcome by a redirect to that machine, or by a code that
 * the person types. Asks again if the signed-in person has changed since. Throws `bad_parameter` and `too_many_pages`.
 */
export function answerCli(context: PageContext): Outcome {
  const { access, form, session } = context;
  const request = readCliRequest((name) => oneValue(form, name));
  const decision = oneValue(form, 'decision');
  if (oneValue(form, 'shown') !== signedInAs(context)) return show(context, request);
  if (decision === 'refuse') return refused(context, request);
  if (decision !== 'allow') return show(context, request);
  const code = makeCliCode(access, (session as Session).signed, request);
  return request.redirectUri === null ? codeToType(code, request) : allowed(context, request, code);
}

/** The signed-in person, as in the form's hidden field. */
function signedInAs({ session }: PageContext): string {
  const { signed } = session as Session;
  return signed.kind === 'admin' ? `admin ${signed.name}` : `owner ${signed.profileId}`;
}

function show(context: PageContext, request: CliRequest): Page {
  const { access, client, person } = context;
  const isAdmin = person?.kind === 'admin';
  const who = isAdmin
    ? html`the admin ${userText(person.name)}`
    : html`the owner of ${userText(ownProfile(context).username)}`;
  const fields = cliParameters(request).map(([name, value]) => hiddenField(name, value));
  return {
    title: 'Allow profilectl to access your account?',
    body: html`<h1>Allow profilectl to access your account?</h1>
<p><strong>Allow it only if you have just run <code>profilectl login</code> yourself.</strong> It will act as you.</p>
${factList([
  ['Machine', html`${userText(request.machine)} (as it calls itself)`],
  ['This browser’s IP address', client.address],
  ['It will act as', who],
  ['It may', isAdmin ? FOR_ADMINS : FOR_OWNERS],
])}
<form method="post" action="${publicPath(access.config, '/developers/cli')}">${fields}${hiddenField('shown', signedInAs(context))}
<p class="buttons"><button name="decision" value="allow">Allow</button> <button name="decision" value="refuse" class="second">Cancel</button></p></form>
<p>You can end it at any time under <a href="${publicPath(access.config, '/developers/sessions')}">Sessions</a>.</p>`,
  };
}

const FOR_OWNERS =
  'see, request, rename, withdraw and revoke your profile’s keys, for at most 90 days, or until it has not been used for 30 days';

const FOR_ADMINS =
  'read requests and keys, for 12 hours; each decision still needs your passkey, in a browser that shows what you decide';

/** The page that leads back to `profilectl`: our policy forbids a form to redirect to another origin. */
function allowed(context: PageContext, request: CliRequest, code: string): Page {
  const redirectTo = answerTo(context, request, { code });
  return {
    title: 'profilectl has access',
    redirectTo,
    body: html`<h1>profilectl has access</h1>
<p>Your browser is returning to profilectl on ${userText(request.machine)}. If it doesn’t, <a href="${redirectTo}">continue</a>. If that page can’t be reached, run <code>profilectl login</code> again.</p>`,
  };
}

function codeToType(code: string, { machine }: CliRequest): Page {
  return {
    title: 'Type this code',
    body: html`<h1>Type this code</h1>
<p><code data-copy="the code">${showCode(code)}</code></p>
<p>Type it into the terminal where <code>profilectl login</code> is waiting on ${userText(machine)}. <strong>Do this only if you ran that command yourself, and never give this code to anybody.</strong></p>`,
  };
}

function refused(context: PageContext, request: CliRequest): Page {
  const body: Html = html`<h1>profilectl has no access</h1>`;
  if (request.redirectUri === null) {
    return { title: 'Cancelled', body: html`${body}<p>Nothing was done. You can close this page.</p>` };
  }
  const redirectTo = answerTo(context, request, { error: 'access_denied' });
  return {
    title: 'Cancelled',
    redirectTo,
    body: html`${body}<p>Nothing was done. Your browser is returning to profilectl to report that. If it doesn’t, <a href="${redirectTo}">continue</a>.</p>`,
  };
}

function answerTo({ access }: PageContext, request: CliRequest, outcome: Parameters<typeof cliAnswer>[2]): string {
  return cliAnswer(request.redirectUri as string, request.state, outcome, access.config.publicUrl);
}
