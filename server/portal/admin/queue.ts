import { choiceFault, type Queued } from '../../../shared/approval/queue.ts';
import { USUAL_PAGE_LENGTH } from '../../../shared/keys/inputs.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { buttonLook, errorSummary, type Faults, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { spanText } from '../html/time.ts';
import { oneValue, queryValue } from '../requests/form.ts';
import { performFor } from '../requests/perform.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { adminKeyPath, QUEUE_PATH } from './admin-path.ts';
import { needsReason } from './decision-forms.ts';
import { pageLinks, readAfter, searchForm } from './keys.ts';
import { outcomes } from './outcomes.ts';
import { queueRows } from './queue-rows.ts';

/** The cursor of the part of the queue that the URL or the sent form names; empty for the first. Throws `bad_parameter`. */
function afterIn(context: PageContext): string {
  return readAfter(queryValue(context, 'after') || oneValue(context.form, 'after'));
}

/** The names and values of the fields that lead back to the part of the queue from which a form or a link comes. */
export function partFields(context: PageContext): [name: string, value: string][] {
  const after = afterIn(context);
  return after === '' ? [] : [['after', after]];
}

/** The URL of that part of the queue, where these requests are chosen. */
export function partAddress(context: PageContext, chosen: readonly string[] = []): string {
  const choose: [string, string][] = chosen.length === 0 ? [] : [['choose', chosen.join()]];
  const fields = [...partFields(context), ...choose];
  const path = publicPath(context.access.config, QUEUE_PATH);
  return fields.length === 0 ? path : `${path}?${new URLSearchParams(fields)}`;
}

/** `GET /developers/admin`: the requests that are waiting, oldest first, below the outcomes of the last decisions. */
export function queue(context: PageContext): Promise<Page> {
  return showQueue(context, NO_FAULTS);
}

/** The same page, with the errors of its form if that was refused. */
export async function showQueue(context: PageContext, faults: Faults): Promise<Page> {
  const { access } = context;
  const after = afterIn(context);
  const asked = { limit: USUAL_PAGE_LENGTH, after: after || null };
  const { requests, waiting, next, cantMail } = await performFor(context, OPERATIONS.queue, asked);
  const nowMs = access.clock.nowMs();
  const choosable = requests.filter((queued) => choiceFault(queued) === null).map(({ key }) => key.identifier);
  const choose = queryValue(context, 'choose').split(',');
  const chosen = new Set(choose[0] === 'all' ? choosable : choose);
  const ends = await outcomes(context);
  const path = publicPath(access.config, QUEUE_PATH);
  // Approvals send an e-mail; if that is impossible, none is offered.
  const offered = REQUEST_DECISIONS.filter(({ continuation }) => continuation === null || cantMail === null);
  const rows = queueRows(requests, { access, offered, chosen, linkTo: adminKeyPath(context), nowMs });
  const hidden = partFields(context).map(([name, value]) => hiddenField(name, value));
  const form = html`<form class="queue" method="post" action="${path}/decide" novalidate>${hidden}${rows}
<p class="bar"><span class="count">chosen</span>${offered.map(barButton)}<button class="bare" type="reset">Clear</button></p></form>`;
  const oldest = after === '' ? requests[0] : undefined;
  const all =
    choosable.length < 2
      ? ''
      : html`. <a href="${partAddress(context, ['all'])}">Choose all ${after === '' && next === null ? '' : 'on this page'}</a>`;
  return {
    title: waiting === 0 ? 'Requests' : `(${numberText(waiting)}) Requests`,
    scripts: ends.scripts,
    body: html`${errorSummary(faults)}<div class="head"><div><h1>Requests</h1><p class="soft" id="waiting">${waiting === 0 ? noneInWords(context) : html`${waitingInWords(waiting, oldest, nowMs)}${all}`}</p></div>${searchForm(context, '')}</div>
${ends.body}${waiting > 0 && cantMail !== null ? html`<p class="note">${cantMail}</p>` : ''}
${requests.length > 0 ? form : ''}
${pageLinks(path, {}, after, next)}`,
  };
}

function barButton(operation: AnyOperation): Html {
  const { name, texts } = operation;
  const asks = needsReason(operation);
  return html`<button${buttonLook({ isSecond: asks })} name="${name}" value="">${texts.button} ${asks ? '…' : 'as requested'}</button> `;
}

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
