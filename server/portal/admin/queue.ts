import { choiceFault, type Queued } from '../../../shared/approval/queue.ts';
import { KEY_STATES, type KeyState } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import { isKeyState } from '../../../shared/keys/key.ts';
import { readCursor } from '../../../shared/keys/list-cursor.ts';
import { usualWaitDays, usualWaitText } from '../../../shared/keys/waiting.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { MOST_DECISIONS } from '../../../shared/passkeys/decision.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { errorSummary, type Faults, NO_FAULTS } from '../html/fields.ts';
import { keyTable } from '../html/key-table.ts';
import { spanText } from '../html/time.ts';
import type { Page, Visit } from '../requests/request-context.ts';
import { adminKeyPath, QUEUE_PATH } from './admin-path.ts';
import { decidedNote } from './last-decision.ts';
import rowScript from './queue.browser.js' with { type: 'text' };
import { queueRows } from './queue-rows.ts';

/** So many keys are on one page. */
const PAGE_SIZE = 50;

/** Which keys are shown: `all` for those in every state; `after` is the cursor at which the page before ends. */
type Wanted = { state: KeyState | 'all'; find: string; after: string };

/** What a form of the queue chose that was refused, and why. */
type Refused = { chosen: readonly string[]; faults: Faults };

/** `GET /developers/admin`: the requests that are waiting, oldest first; or the keys that were looked for, or are in a state. */
export function queue(visit: Visit): Promise<Page> {
  const { query } = visit;
  const isSearch = (query.get('find') ?? '').trim() !== '' || (query.get('state') || 'pending') !== 'pending';
  return isSearch ? showFound(visit) : showQueue(visit, { chosen: [], faults: NO_FAULTS });
}

/** The requests that are waiting; where a form was refused, with what it chose and why. */
export async function showQueue(visit: Visit, { chosen, faults }: Refused): Promise<Page> {
  const { access, query } = visit;
  const after = afterIn(visit);
  const { requests, waiting, next } = await performWhenUnlocked(visit, OPERATIONS.queue, {
    limit: PAGE_SIZE,
    after: after || null,
  });
  const nowMs = access.clock.nowMs();
  const first = query.get('choose') === 'first' ? firstOf(requests) : chosen;
  const decided = await decidedNote(visit);
  const path = publicPath(access.config, QUEUE_PATH);
  const rows = queueRows(requests, { chosen: new Set(first), linkTo: adminKeyPath(visit), nowMs });
  const form = html`<form class="queue" method="post" action="${path}/decide" novalidate>${rows}
<div class="bar"><p class="count"></p><p>${REQUEST_DECISIONS.map(barButton)} <a href="${path}">Choose none</a></p></div></form>`;
  return {
    title: waiting === 0 ? 'Requests' : `(${waiting}) Requests`,
    scripts: [...decided.scripts, rowScript],
    body: html`${errorSummary(faults)}<div class="headline"><h1>Requests</h1>${searchForm(visit, '')}</div>
${decided.body}<p>${waiting === 0 ? noneInWords(visit) : html`${waitingInWords(waiting, after === '' ? requests[0] : undefined, nowMs)}${usualWait(visit)}${firstLink(requests, path)}`}</p>
${requests.length > 0 ? form : ''}
${pageLinks(visit, { state: 'pending', find: '', after }, next)}
${stateLinks(visit, 'pending')}`,
  };
}

/** The button that decides on all that are chosen. */
function barButton({ name, texts, input, isDangerous }: AnyOperation): Html {
  const asAsked = 'reason' in input.shape ? '' : ' as asked';
  return html`<button${raw(isDangerous ? ' class="second danger"' : '')} name="${name}" value="">${texts?.button ?? name}${asAsked}…</button> `;
}

/** The requests that are chosen with one click: the first of them that can be decided on together. */
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

/** How long requests usually wait, once enough were decided. */
function usualWait({ access }: Visit): string {
  const days = usualWaitDays(access);
  return days === null ? '' : ` · usually answered ${usualWaitText(days)}`;
}

/** What an empty queue says, and that a mail tells of new requests where there is an address for it. */
function noneInWords({ access: { config } }: Visit): string {
  const mail = config.adminEmails.length > 0 ? ', and admins are told by mail' : '';
  return `No requests are waiting. New ones appear here${mail}.`;
}

/** How many requests are waiting, at least one, and for how long the oldest has been, where it is known. */
function waitingInWords(waiting: number, oldest: Queued | undefined, nowMs: number): string {
  const are = waiting === 1 ? '1 request is waiting' : `${waiting} requests are waiting`;
  if (oldest === undefined) return are;
  return `${are}, ${waiting === 1 ? '' : 'the oldest '}for ${spanText(nowMs - Date.parse(oldest.key.requestedAt))}`;
}

/** The keys that were looked for by a text, or are in a state, or both. */
async function showFound(visit: Visit): Promise<Page> {
  const { access, query } = visit;
  const find = (query.get('find') ?? '').trim();
  const state = query.get('state') || 'all';
  if (state !== 'all' && !isKeyState(state)) throw new AppError('bad_parameter', 'There is no such state of keys.');
  const after = afterIn(visit);
  const { keys, lastUses, next } = await performWhenUnlocked(visit, OPERATIONS.list, {
    states: state === 'all' ? null : [state],
    find: find === '' ? null : find,
    limit: PAGE_SIZE,
    after: after || null,
  });
  const title = find === '' ? 'Keys' : `Found: ${find}`;
  const caption = 'Pending ones first, then the oldest first';
  const linkTo = adminKeyPath(visit);
  const nowMs = access.clock.nowMs();
  return {
    title,
    body: html`<div class="headline"><h1>Keys</h1>${searchForm(visit, find)}</div>
${stateLinks(visit, state, find)}
${keys.length > 0 ? keyTable({ keys, lastUses, caption, linkTo, withProfiles: true, nowMs }) : nothing(find)}
${pageLinks(visit, { state, find, after }, next)}`,
  };
}

function nothing(find: string): Html {
  return find === ''
    ? html`<p>There are none.</p>`
    : html`<p>No key is found by “<bdi>${find}</bdi>”: neither an identifier, nor a part of a key’s name, nor the beginning of a profile’s name, nor a whole address.</p>`;
}

function afterIn({ query }: Visit): string {
  const after = query.get('after') ?? '';
  if (after !== '' && readCursor(after) === null)
    throw new AppError('bad_parameter', 'after must be taken from a link.');
  return after;
}

function searchForm({ access: { config } }: Visit, find: string): Html {
  return html`<form class="search" role="search" method="get" action="${publicPath(config, QUEUE_PATH)}" novalidate><label class="unseen" for="find">Key, profile or address</label><input id="find" name="find" type="search" value="${find}" placeholder="Key, profile or address" autocomplete="off" autocapitalize="none" spellcheck="false"><button class="second">Find</button></form>`;
}

/** Links to the keys in each state. */
function stateLinks({ access: { config } }: Visit, state: string, find = ''): Html {
  const items = ['all', ...KEY_STATES].map((one) => {
    const query = new URLSearchParams({ state: one, ...(find !== '' && { find }) });
    const isHere = one === state;
    return html`<li><a href="${publicPath(config, QUEUE_PATH)}?${query.toString()}"${raw(isHere ? ' aria-current="true"' : '')}>${one === 'all' ? 'all keys' : one}</a></li>`;
  });
  return html`<nav aria-label="Keys by state"><ul class="nav">${items}</ul></nav>`;
}

function pageLinks(
  { access: { config } }: Visit,
  { state, find, after }: Record<keyof Wanted, string>,
  next: string | null,
): Html {
  const link = (parameters: Record<string, string>, text: string) => {
    const query = new URLSearchParams({ state, ...(find !== '' && { find }), ...parameters });
    return html`<li><a href="${publicPath(config, QUEUE_PATH)}?${query.toString()}">${text}</a></li>`;
  };
  if (after === '' && next === null) return html``;
  const first = after === '' ? '' : link({}, 'First page');
  const later = next === null ? '' : link({ after: next }, 'Next page');
  return html`<nav aria-label="Pages of the list"><ul class="nav">${first}${later}</ul></nav>`;
}
