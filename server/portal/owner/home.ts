import { html } from '../../html.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { ownerSignInFault } from '../requests/session.ts';

/** `GET /developers`: the start page, with links to sign in and to the API documentation. */
export function home(context: PageContext): Page {
  const { person, to } = context;
  const fault = person === null ? ownerSignInFault(context) : null;
  const link = (path: string, text: string) => html`<a href="${to(path)}">${text}</a>`;
  const button = (path: string, text: string) => html`<a class="button filled" href="${to(path)}">${text}</a>`;
  const [start, text] =
    person?.kind === 'admin'
      ? (['/developers/admin', 'Requests to decide on'] as const)
      : (['/developers/keys', 'Your API keys'] as const);
  const entry = person === null ? button('/developers/sign-in', 'Sign in') : button(start, text);
  return {
    title: 'Developer Platform',
    body: html`<div class="ask stack"><h1>Developer Platform</h1>
<p class="text">Look up this community’s public profiles from your own programs. Each program needs an API key: request it here, see how it is used, and revoke it.</p>
${fault === null ? html`<p class="buttons">${entry}<a class="button" href="${to('/docs')}">Read the documentation</a></p>` : html`<p class="note">${fault}</p>`}
<section class="card"><h2>How it works</h2>
<ol class="steps">
<li>Request a key: say what your program does and what it needs.</li>
<li>An admin decides. You get an e-mail either way.</li>
<li>The approval e-mail contains the key’s secret, which your program sends with each request.</li>
</ol></section>
<p>Found a key’s secret somewhere? ${link('/developers/found', 'Report it')}, and the key is revoked at once.</p>
${person === null ? html`<p>Admins ${link('/developers/admin/sign-in', 'sign in with a passkey')}.</p>` : ''}</div>`,
  };
}
