import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { signInFault } from '../requests/cookies.ts';
import type { Page, Visit } from '../requests/request-context.ts';

/** `GET /developers`: what this is, where to sign in, and where the API is described. */
export function home({ access: { config }, isForwardedUnasked, person }: Visit): Page {
  const fault = signInFault(config, isForwardedUnasked);
  const link = (path: string, text: string) => html`<a href="${publicPath(config, path)}">${text}</a>`;
  const signIn = html`<p>${link('/developers/sign-in', 'Sign in')} with your username and the e-mail address that this service knows of you: it sends you a code.</p>`;
  const admins = html`<p>Admins ${link('/developers/admin/sign-in', 'sign in with a passkey')}.</p>`;
  const [start, text] =
    person?.kind === 'admin'
      ? (['/developers/admin', 'Requests to decide on'] as const)
      : (['/developers/keys', 'Your API keys'] as const);
  const entry = person === null ? html`${signIn}${admins}` : html`<p>${link(start, text)}</p>`;
  return {
    title: 'Developer Platform',
    body: html`<h1>Developer Platform</h1>
<p>Programs can look up public profiles of this platform through an API. Each needs an API key. Here you request keys for your profile, see what they are used for, and end them.</p>
${fault === null ? entry : html`<p class="note">${fault}</p>`}
<h2>How it goes</h2>
<ol>
<li>You request a key: what it is for, and what it may do.</li>
<li>An admin decides. You get a mail either way.</li>
<li>The mail of an approval holds the key’s secret. Your program sends it with each request.</li>
</ol>
<p>The ${link('/docs', 'API documentation')} has every request with its answer.</p>
<p>Have you found the secret of a key somewhere? ${link('/developers/found', 'Give it back')}: it is revoked at once.</p>`,
  };
}
