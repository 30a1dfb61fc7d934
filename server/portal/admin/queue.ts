import { choiceFault, type Queued } from '../../../shared/approval/queue.ts';
import { AppError } from '../../../shared/errors.ts';
import { USUAL_PAGE_LENGTH } from '../../../shared/keys/fields/inputs.ts';
import { isQueueFilter, QUEUE_FILTERS, type QueueFilter } from '../../../shared/keys/queue-filters.ts';
import { usualWaitDays, usualWaitText } from '../../../shared/keys/waiting.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { MAX_DECISIONS } from '../../../shared/passkeys/decision.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { buttonLook, errorSummary, type Faults, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { spanText } from '../html/time.ts';
import { type FieldKinds, oneValue } from '../requests/form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { adminKeyPath, QUEUE_PATH } from './admin-path.ts';
import { needsReason } from './ask-for-reason.ts';
import { pageLinks, readAfter, searchForm } from './keys.ts';
import { decidedNote } from './last-decision.ts';
import rowScript from './queue.browser.js' with { type: 'text' };
import { queueRows } from './queue-rows.ts';

/** The fields by which forms of the queue lead back to the same part of it. */
export const PART_FIELDS = { only: 'unseen', after: 'unseen' } as const satisfies FieldKinds;

/** Which part of the queue is shown: a filter and a cursor, each empty if there is none. */
type Part = { only: QueueFilter | ''; after: string };

/** The part of the queue that the URL or the sent form names. Throws `bad_parameter`. */
function partIn({ query, form }: PageContext): Part {
  const read = (name: keyof typeof PART_FIELDS) => query.get(name) ?? oneValue(form, name);
  const only = read('only');
  if (only !== '' && !isQueueFilter(only)) throw new AppError('bad_parameter', 'There is no such filter.');
  return { only, after: readAfter(read('after')) };
}

/** The names and values of the fields that lead back to the part of the queue from which a form or a link comes. */
export function partFields(context: PageContext): [name: string, value: string][] {
  return Object.entries(partIn(context)).filter(([, value]) => value !== '');
}

/** The URL of that part of the queue, where these requests are selected. */
export function partAddress(context: PageContext, chosen: readonly string[] = []): string {
  const choose: [string, string][] = chosen.length === 0 ? [] : [['choose', chosen.join()]];
  return addressWith(publicPath(context.access.config, QUEUE_PATH), [...partFields(context), ...choose]);
}

function addressWith(path: string, fields: readonly [name: string, value: string][]): string {
  return fields.length === 0 ? path : `${path}?${new URLSearchParams(fields)}`;
}

type Refused = { chosen: readonly string[]; faults: Faults };

/** `GET /developers/admin`: the requests that are waiting, oldest first. */
export function queue(context: PageContext): Promise<Page> {
  return showQueue(context, { chosen: [], faults: NO_FAULTS });
}

/** The same page; if its form was refused, with the selection and the errors. */
export async function showQueue(context: PageContext, { chosen, faults }: Refused): Promise<Page> {
  const { access, query } = context;
  const { only, after } = partIn(context);
  const asked = { limit: USUAL_PAGE_LENGTH, after: after || null, only: only || null };
  const { requests, waiting, passing, next, cantMail } = await performWhenUnlocked(context, OPERATIONS.queue, asked);
  const nowMs = access.clock.nowMs();
  const choose = query.get('choose')?.split(',') ?? chosen;
  const ticked = choose[0] === 'first' ? firstOf(requests) : choose;
  const decided = await decidedNote(context);
  const path = publicPath(access.config, QUEUE_PATH);
  // Approvals send an e-mail; if that is impossible, none is offered.
  const offered = REQUEST_DECISIONS.filter(({ continuation }) => continuation === null || cantMail === null);
  const rows = queueRows(requests, { offered, chosen: new Set(ticked), linkTo: adminKeyPath(context), nowMs });
  const hidden = partFields(context).map(([name, value]) => hiddenField(name, value));
  const form = html`<form class="queue" method="post" action="${path}/decide" novalidate>${hidden}${rows}
<div class="bar"><p class="count"></p><p>${offered.map(barButton)} <a href="${partAddress(context)}">Select none</a></p></div></form>`;
  const oldest = only === '' && after === '' ? requests[0] : undefined;
  return {
    title: waiting === 0 ? 'Requests' : `(${numberText(waiting)}) Requests`,
    scripts: [...decided.scripts, rowScript],
    body: html`${errorSummary(faults)}<div class="headline"><h1>Requests</h1>${searchForm(context, '')}</div>
${decided.body}${waiting > 0 && cantMail !== null ? html`<p class="note">${cantMail}</p>` : ''}
<div class="above"><p>${waiting === 0 ? noneInWords(context) : html`${waitingInWords(waiting, oldest, nowMs)}${usualWait(context)}${firstLink(context, requests)}`}</p>
${waiting > 1 ? filterLinks(path, only, passing) : ''}</div>
${requests.length > 0 ? form : only === '' ? '' : html`<p>No requests match this filter.</p>`}
${pageLinks(path, only === '' ? {} : { only }, after, next)}`,
  };
}

function barButton(operation: AnyOperation): Html {
  const { name, texts, isDangerous } = operation;
  const how = needsReason(operation) ? 'with one reason' : 'as requested';
  return html`<button${buttonLook({ isSecond: isDangerous, isDangerous })} name="${name}" value="">${texts.button} ${how}…</button> `;
}

/** The requests that one click selects: the first ones that can be decided on together. */
function firstOf(requests: readonly Queued[]): string[] {
  return requests
    .filter((queued) => choiceFault(queued) === null)
    .slice(0, MAX_DECISIONS)
    .map(({ key }) => key.identifier);
}

function firstLink(context: PageContext, requests: readonly Queued[]): Html {
  const count = firstOf(requests).length;
  if (count < 2) return html``;
  const ofPage = partIn(context).after === '' ? '' : ' on this page';
  return html` · <a href="${partAddress(context, ['first'])}">Select the first ${count}${ofPage}</a>`;
}

/** Links to the requests that pass each filter; the current one says how many do. */
function filterLinks(path: string, only: Part['only'], passing: number): Html {
  const items = (['', ...QUEUE_FILTERS] as const).map((one) => {
    const count = one === only && one !== '' ? ` (${numberText(passing)})` : '';
    const address = addressWith(path, one === '' ? [] : [['only', one]]);
    return html`<li><a href="${address}"${raw(one === only ? ' aria-current="true"' : '')}>${one === '' ? 'all' : one}${count}</a></li>`;
  });
  return html`<nav aria-label="Filter"><ul class="nav">${items}</ul></nav>`;
}

function usualWait({ access }: PageContext): string {
  const days = usualWaitDays(access);
  return days === null ? '' : ` · usually answered ${usualWaitText(days)}`;
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
