import { choiceFault, type Queued } from '../../../shared/approval/queue.ts';
import { usualWaitDays, usualWaitText } from '../../../shared/keys/waiting.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { MOST_DECISIONS } from '../../../shared/passkeys/decision.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { buttonLook, errorSummary, type Faults, NO_FAULTS } from '../html/fields.ts';
import { spanText } from '../html/time.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { adminKeyPath, QUEUE_PATH } from './admin-path.ts';
import { needsReason } from './ask-for-reason.ts';
import { cursorIn, PAGE_SIZE, pageLinks, searchForm } from './keys.ts';
import { decidedNote } from './last-decision.ts';
import rowScript from './queue.browser.js' with { type: 'text' };
import { queueRows } from './queue-rows.ts';

/** The choice of a refused form of the queue, and its faults. */
type Refused = { chosen: readonly string[]; faults: Faults };

/** `GET /developers/admin`: the requests that are waiting, oldest first. */
export function queue(context: PageContext): Promise<Page> {
  return showQueue(context, { chosen: [], faults: NO_FAULTS });
}

/** The same page; if its form was refused, with the choice and the faults. */
export async function showQueue(context: PageContext, { chosen, faults }: Refused): Promise<Page> {
  const { access, query } = context;
  const after = cursorIn(context);
  const { requests, waiting, next } = await performWhenUnlocked(context, OPERATIONS.queue, {
    limit: PAGE_SIZE,
    after: after || null,
  });
  const nowMs = access.clock.nowMs();
  const first = query.get('choose') === 'first' ? firstOf(requests) : chosen;
  const decided = await decidedNote(context);
  const path = publicPath(access.config, QUEUE_PATH);
  const rows = queueRows(requests, { chosen: new Set(first), linkTo: adminKeyPath(context), nowMs });
  const form = html`<form class="queue" method="post" action="${path}/decide" novalidate>${rows}
<div class="bar"><p class="count"></p><p>${REQUEST_DECISIONS.map(barButton)} <a href="${path}">Choose none</a></p></div></form>`;
  return {
    title: waiting === 0 ? 'Requests' : `(${numberText(waiting)}) Requests`,
    scripts: [...decided.scripts, rowScript],
    body: html`${errorSummary(faults)}<div class="headline"><h1>Requests</h1>${searchForm(context, '')}</div>
${decided.body}<p>${waiting === 0 ? noneInWords(context) : html`${waitingInWords(waiting, after === '' ? requests[0] : undefined, nowMs)}${usualWait(context)}${firstLink(requests, path)}`}</p>
${requests.length > 0 ? form : ''}
${pageLinks(path, {}, after, next)}`,
  };
}

/** The button that decides on all chosen requests. */
function barButton(operation: AnyOperation): Html {
  const { name, texts, isDangerous } = operation;
  const asAsked = needsReason(operation) ? '' : ' as asked';
  return html`<button${buttonLook({ isSecond: isDangerous, isDangerous })} name="${name}" value="">${texts?.button ?? name}${asAsked}…</button> `;
}

/** The requests that one click chooses: the first ones that can be decided on together. */
function firstOf(requests: readonly Queued[]): string[] {
  return requests
    .filter((queued) => choiceFault(queued) === null)
    .slice(0, MOST_DECISIONS)
    .map(({ key }) => key.identifier);
}

function firstLink(requests: readonly Queued[], path: string): Html {
  const count = firstOf(requests).length;
  return count < 2 ? html`` : html` · <a href="${path}?choose=first">Choose the first ${count}</a>`;
}

/** How long requests usually wait, once enough have been decided on. */
function usualWait({ access }: PageContext): string {
  const days = usualWaitDays(access);
  return days === null ? '' : ` · usually answered ${usualWaitText(days)}`;
}

/** The text of an empty queue, which mentions mails if there is an address for them. */
function noneInWords({ access: { config } }: PageContext): string {
  const mail = config.adminEmails.length > 0 ? ', and admins get an e-mail' : '';
  return `No requests are waiting. New ones appear here${mail}.`;
}

/** How many requests (at least one) are waiting and, if known, for how long the oldest has been. */
function waitingInWords(waiting: number, oldest: Queued | undefined, nowMs: number): string {
  const are = `${countText(waiting, 'request')} ${waiting === 1 ? 'is' : 'are'} waiting`;
  if (oldest === undefined) return are;
  return `${are}, ${waiting === 1 ? '' : 'the oldest '}for ${spanText(nowMs - Date.parse(oldest.key.requestedAt))}`;
}
