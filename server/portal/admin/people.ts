import { type AdminView, listAdmins, type PasskeyView, viewOf } from '../../../shared/admins.ts';
import { AppError } from '../../../shared/errors.ts';
import { beginRegistration, listPasskeys, removePasskey } from '../../../shared/sign-in/passkeys.ts';
import type { Session } from '../../../shared/sign-in/sessions.ts';
import { type Html, html, userText } from '../../html.ts';
import { errorSummary, type Faults, formTo, hiddenField } from '../html/fields.ts';
import { relativeTime } from '../html/time.ts';
import { PASSKEY_SCRIPTS, passkeyForm, passkeyName, registerPasskey } from '../passkeys/passkey-form.ts';
import { oneValue } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { removeCookie, withNext } from '../requests/session.ts';

const PEOPLE_PATH = '/developers/admin/people';

/** How long after signing in an admin may add and remove passkeys: a session left open somewhere is not enough. */
const FRESH_MS = 5 * 60_000;

/** `GET /developers/admin/people`: the admin's own passkeys, a link to their sessions, and the list of admins. */
export function people(context: PageContext): Page {
  const { deps, session, nowMs, to } = context;
  const own = session?.person.name ?? '';
  const admins = listAdmins(deps);
  const passkeys = admins.find(({ name }) => name === own)?.passkeys ?? [];
  const isNow = isFresh(context);
  const items = passkeys.map((passkey) => {
    const canGo = isNow && passkeys.length > 1;
    const remove = html`<form method="post" action="${to(`${PEOPLE_PATH}/passkeys/${passkey.id}/remove`)}"><button class="tiny">Remove<span class="unseen"> ${passkey.name}</span>…</button></form>`;
    return html`<li class="line"><p>${describe(passkey, nowMs)}</p>${canGo ? remove : ''}</li>`;
  });
  const add = isNow
    ? formTo(to(`${PEOPLE_PATH}/passkeys`), { text: 'Add a passkey…', isSecond: true })
    : html`<p>To add or remove a passkey, <a href="${to(withNext('/developers/admin/sign-in', PEOPLE_PATH))}">sign in again</a>: that is possible within five minutes of signing in.</p>`;
  return {
    title: 'People',
    body: html`<h1>People</h1>
<section class="stack"><h2>Your passkeys</h2>
<ul class="list">${items}</ul>
${add}
<p class="soft">To see where you are signed in, and to sign out elsewhere, go to <a href="${to('/developers/sessions')}">Your sign-ins</a>.</p></section>
<section class="stack"><h2>Admins</h2>
${adminList(admins, nowMs)}
<p class="soft">Admins are added and removed on the machine that runs the service; <code>profilectl admins --help</code> there lists the commands.</p></section>`,
  };
}

function isFresh({ nowMs, session }: PageContext): boolean {
  const ageMs = nowMs - (session?.startedAtMs ?? 0);
  return ageMs >= 0 && ageMs < FRESH_MS;
}

function refuseStale(context: PageContext): void {
  if (isFresh(context)) return;
  throw new AppError('forbidden', 'Passkeys are added and removed within five minutes of signing in: sign in again.');
}

/**
 * `POST /developers/admin/people/passkeys`: without a credential, asks for the new passkey's name and to create it; with one,
 * registers it. Throws `forbidden` more than five minutes after signing in.
 */
export async function addOwnPasskey(context: PageContext): Promise<Outcome> {
  refuseStale(context);
  const { deps, to } = context;
  const session = context.session as Session;
  const title = 'Add a passkey';
  const ask = (name: string, faults: Faults): Page => ({
    title,
    where: 'People',
    scripts: PASSKEY_SCRIPTS,
    body: html`${errorSummary(faults)}<h1>${title}</h1>
<p>On this device, or on a security key or a phone that you have with you.</p>
${passkeyForm({
  action: to(`${PEOPLE_PATH}/passkeys`),
  button: { text: 'Create a passkey', cancel: to(PEOPLE_PATH) },
  parts: [passkeyName(name, faults)],
  options: beginRegistration(deps, session),
})}`,
  });
  return registerPasskey(context, session, ask, { seeOther: PEOPLE_PATH, flash: 'passkey-added' });
}

/**
 * `POST /developers/admin/people/passkeys/:id/remove`: asks once more; then removes the passkey and ends all sessions of this
 * admin, this one too. Throws `not_found`, `refused` for the last passkey, and `forbidden` more than five minutes after signing in.
 */
export async function removeOwnPasskey(context: PageContext): Promise<Outcome> {
  const { deps, config, form, params, nowMs, to } = context;
  const session = context.session as Session;
  const passkey = listPasskeys(deps.db, session.adminId ?? 0).find(({ id }) => String(id) === params.id);
  if (passkey === undefined) throw new AppError('not_found', 'You have no such passkey.');
  refuseStale(context);
  if (oneValue(form, 'sure') === 'yes') {
    await context.write(() => removePasskey(deps, session, passkey.id));
    const cookies = [removeCookie(config, 'session')];
    return { seeOther: '/developers/admin/sign-in', flash: 'passkey-removed', cookies };
  }
  const title = 'Remove a passkey?';
  const back = to(PEOPLE_PATH);
  const action = `${back}/passkeys/${passkey.id}/remove`;
  return {
    title,
    where: 'People',
    body: html`<h1>${title}</h1>
<p>${describe(viewOf(passkey), nowMs)}</p>
<p>It will no longer work here. All your sessions end, including this one, because whoever has that passkey may have started one. Afterwards, sign in again with another passkey.</p>
${formTo(action, { text: 'Remove it', isDangerous: true, cancel: back }, hiddenField('sure', 'yes'))}`,
  };
}

/** A passkey in a sentence or two. */
function describe({ name, registeredAt, registeredFrom, lastUsedAt }: PasskeyView, nowMs: number): Html {
  const used = lastUsedAt === null ? 'not used yet' : html`last used ${relativeTime(Date.parse(lastUsedAt), nowMs)}`;
  return html`<strong>${userText(name)}</strong>, registered ${relativeTime(Date.parse(registeredAt), nowMs)} from ${registeredFrom}, ${used}.`;
}

function adminList(admins: readonly AdminView[], nowMs: number): Html {
  const rows = admins.map(({ name, state, addedAt, passkeys }) => {
    const used = passkeys.flatMap(({ lastUsedAt }) => lastUsedAt ?? []).sort();
    const last = used.at(-1);
    const use =
      last === undefined ? 'never used a passkey' : html`last used a passkey ${relativeTime(Date.parse(last), nowMs)}`;
    return html`<li class="line"><p><b>${userText(name)}</b> <span class="soft">${state} · added ${relativeTime(Date.parse(addedAt), nowMs)} · ${use}</span></p></li>`;
  });
  return html`<ul class="list">${rows}</ul>`;
}
