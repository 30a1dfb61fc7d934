import type { ListedSession, Session } from '../../../shared/access/session-row.ts';
import { endAllSessions, endSession, listSessions, MOST_LISTED } from '../../../shared/access/sessions.ts';
import { AppError } from '../../../shared/errors.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../request/public-path.ts';
import { removeCookie } from '../cookies.ts';
import { timeText } from '../html/time.ts';
import type { Outcome, Page, Visit } from '../visit.ts';

/** `GET /developers/sessions`: where this person is signed in, and was in the last 30 days; ends one or all. */
export function sessions({ access, session }: Visit): Page {
  const own = session as Session;
  const all = listSessions(access, own.signed);
  const living = all.filter(({ endedAtMs }) => endedAtMs === null);
  const ended = all.filter(({ endedAtMs }) => endedAtMs !== null);
  const path = (rest: string) => publicPath(access.config, `/developers/sessions/${rest}`);
  return {
    title: 'Sessions',
    body: html`<h1>Sessions</h1>
<p>Where you are signed in. If you don’t know one of these, end them all, and tell whoever runs this service.</p>
<ul class="plain">${living.map(
      (one) => html`<li>${describe(one)}${one.id === own.id ? html` <strong>This browser.</strong>` : ''}
<form method="post" action="${path(`${one.id}/end`)}"><button class="second">End<span class="unseen"> the session from ${timeText(one.startedAtMs)}</span></button></form></li>`,
    )}</ul>
${all.length < MOST_LISTED ? '' : html`<p>These are the newest ${MOST_LISTED}. Ending all ends the others too.</p>`}
<form method="post" action="${path('end-all')}"><button class="danger">End all, and sign out here too</button></form>
${ended.length === 0 ? '' : html`<h2>Ended in the last 30 days</h2><ul>${ended.map((one) => html`<li>${describe(one)} Ended ${timeText(one.endedAtMs as number)}.</li>`)}</ul>`}`,
  };
}

function describe({ startedAtMs, lastUsedAtMs, client: { address, agent } }: ListedSession): Html {
  return html`Signed in ${timeText(startedAtMs)} from ${address}, last used ${timeText(lastUsedAtMs)}${agent === '' ? '' : html`, with <q>${agent}</q>`}.`;
}

/** `POST /developers/sessions/:id/end`. Throws `not_found` where this person has no living session of this number. */
export function endOne({ access, session, params }: Visit): Outcome {
  const own = session as Session;
  const id = Number(params.id);
  if (!/^\d{1,15}$/.test(params.id ?? '') || !endSession(access, own.signed, id)) {
    throw new AppError('not_found', 'There is no such session, or it has ended.');
  }
  if (id !== own.id) return { seeOther: '/developers/sessions', flash: 'session-ended' };
  return { seeOther: '/developers', flash: 'signed-out', cookies: [removeCookie(access.config, 'session')] };
}

/** `POST /developers/sessions/end-all`. */
export function endAll({ access, session }: Visit): Outcome {
  endAllSessions(access, (session as Session).signed);
  return { seeOther: '/developers', flash: 'sessions-ended', cookies: [removeCookie(access.config, 'session')] };
}
