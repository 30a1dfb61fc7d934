import { AppError } from '../../../shared/errors.ts';
import {
  browserName,
  endAllSignIns,
  endSignIn,
  listSignIns,
  MAX_LISTED,
  type Session,
} from '../../../shared/sign-in/sessions.ts';
import { type Html, html } from '../../html.ts';
import { relativeTime, timeText } from '../html/time.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { endOwnSession, removeCookie } from '../requests/session.ts';

/** `GET /developers/sessions`: this person's sign-ins, and forms for ending them. */
export function sessions({ deps, session, nowMs, to }: PageContext): Page {
  const own = session as Session;
  const all = listSignIns(deps, own);
  const path = (rest: string) => to(`/developers/sessions/${rest}`);
  const items = all.map(
    (one) =>
      html`<li class="line"><p>${describe(one, nowMs)}${one.id === own.id ? html` <strong>This browser.</strong>` : ''}</p>${endForm(path(`${one.id}/end`), html`the session from ${timeText(one.startedAtMs)}`)}</li>`,
  );
  const isCut = all.length >= MAX_LISTED;
  return {
    title: 'Your sign-ins',
    body: html`<div><h1>Your sign-ins</h1><p class="soft">Where you are signed in. Don’t recognise one? Sign out everywhere, and contact whoever runs this service.</p></div>
<ul class="list">${items}</ul>
${isCut ? html`<p>These are the latest ${MAX_LISTED}. “Sign out everywhere” ends the others too.</p>` : ''}
<form method="post" action="${path('end-all')}"><button>Sign out everywhere, including this browser</button></form>`,
  };
}

function endForm(action: string, what: Html): Html {
  return html`
<form method="post" action="${action}"><button class="tiny">End<span class="unseen"> ${what}</span></button></form>`;
}

function describe({ startedAtMs, lastUsedAtMs, client: { address, agent } }: Session, nowMs: number): Html {
  return html`<strong>${browserName(agent)}</strong>, signed in ${relativeTime(startedAtMs, nowMs)} from ${address}, last used ${relativeTime(lastUsedAtMs, nowMs)}.`;
}

/** `POST /developers/sessions/:id/end`. Throws `not_found` if this person has no active session with this number. */
export async function endOne({ deps, config, session, params, write }: PageContext): Promise<Outcome> {
  const own = session as Session;
  const id = Number(params.id);
  if (!/^\d{1,15}$/.test(params.id ?? '') || !(await write(() => endSignIn(deps, own, id)))) {
    throw new AppError('not_found', 'There is no such session, or it has ended.');
  }
  if (id !== own.id) return { seeOther: '/developers/sessions', flash: 'session-ended' };
  return { seeOther: '/developers', flash: 'signed-out', cookies: [removeCookie(config, 'session')] };
}

/** `POST /developers/sessions/end-all`. */
export async function endAll({ deps, config, session, write }: PageContext): Promise<Outcome> {
  await write(() => endAllSignIns(deps, session as Session));
  return { seeOther: '/developers', flash: 'sessions-ended', cookies: [removeCookie(config, 'session')] };
}

/** `POST /developers/sign-out`: ends the session, and removes its cookie even if the end can't be stored. */
export async function signOut(context: PageContext): Promise<Outcome> {
  const flash = (await endOwnSession(context)) ? 'signed-out' : 'signed-out-here';
  return { seeOther: '/developers', flash, cookies: [removeCookie(context.config, 'session')] };
}
