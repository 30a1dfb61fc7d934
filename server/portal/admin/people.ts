import { type AdminView, listAdmins, type PasskeyView } from '../../../shared/admins/admins.ts';
import { shellWord } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { relativeTime } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import type { Page, PageContext } from '../requests/request-context.ts';

/** `GET /developers/admin/people`: the admin's own passkeys, a link to their sessions, and the list of admins. */
export function people({ access, session }: PageContext): Page {
  const { config } = access;
  const nowMs = access.clock.nowMs();
  const own = session?.person.name ?? '';
  const admins = listAdmins(access);
  const passkeys = admins.find(({ name }) => name === own)?.passkeys ?? [];
  const confirmed = passkeys.filter(({ confirmedAt }) => confirmedAt !== null);
  const items = passkeys.map((passkey) => {
    const canGo = confirmed.some(({ id }) => id !== passkey.id);
    const remove = html`<form method="post" action="${publicPath(config, `/developers/admin/people/passkeys/${passkey.id}/remove`)}"><button class="second danger">Remove<span class="unseen"> ${passkey.name}</span>…</button></form>`;
    return html`<li>${describe(passkey, nowMs)}${canGo ? remove : ''}</li>`;
  });
  return {
    title: 'People',
    body: html`<h1>People</h1>
<h2>Your passkeys</h2>
<ul class="plain">${items}</ul>
<p>To add one for another device, ask the operator to run <code data-copy="the command">profilectl admins invite ${shellWord(own)} --keep-passkeys</code>, which prints a link and signs you out everywhere. Open the link on that device and register the passkey. Once the operator has confirmed it, you can sign in with either.</p>
<p>To see where you are signed in, and to sign out elsewhere, go to <a href="${publicPath(config, '/developers/sessions')}">Sessions</a>.</p>
<h2>Admins</h2>
${adminTable(admins, nowMs)}
<p>Admins are added and removed on the machine that runs the service, with <code>profilectl admins</code>.</p>`,
  };
}

/** A passkey in a sentence or two. */
export function describe(
  { name, registeredAt, registeredFrom, confirmedAt, lastUsedAt }: PasskeyView,
  nowMs: number,
): Html {
  const used = lastUsedAt === null ? 'not used yet' : html`last used ${relativeTime(Date.parse(lastUsedAt), nowMs)}`;
  const state = confirmedAt === null ? html`<strong>Waiting for the operator to confirm it.</strong>` : '';
  return html`<strong>${userText(name)}</strong>, registered ${relativeTime(Date.parse(registeredAt), nowMs)} from ${registeredFrom}, ${used}. ${state}`;
}

function adminTable(admins: readonly AdminView[], nowMs: number): Html {
  const rows = admins.map(({ name, state, addedAt, passkeys }) => {
    const used = passkeys.flatMap(({ lastUsedAt }) => lastUsedAt ?? []).sort();
    const last = used.at(-1);
    return html`<tr><th scope="row">${userText(name)}</th><td data-label="State">${state}</td><td data-label="Added">${relativeTime(Date.parse(addedAt), nowMs)}</td><td data-label="Passkey last used">${last === undefined ? 'never' : relativeTime(Date.parse(last), nowMs)}</td></tr>`;
  });
  return html`<table><thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col">Added</th><th scope="col">Passkey last used</th></tr></thead><tbody>${rows}</tbody></table>`;
}
