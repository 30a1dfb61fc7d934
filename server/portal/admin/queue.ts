import type { Person } from '../../../shared/actor.ts';
import { choiceFault, listQueue, type Queued } from '../../../shared/approval/queue.ts';
import type { Deps } from '../../../shared/deps.ts';
import { USUAL_PAGE_LENGTH } from '../../../shared/keys/fields.ts';
import { keyRevision, readKey } from '../../../shared/keys/record.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html, raw, userText } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { buttonLook, errorSummary, type Faults, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { factList, requestFacts, type ShownFact } from '../html/key-facts.ts';
import { durationSince, pageSentence, spanText } from '../html/time.ts';
import { oneValue, queryValue } from '../requests/form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { needsReason } from './decision-forms.ts';
import { pageLinks, readAfter, searchForm } from './keys.ts';
import { outcomes } from './outcomes.ts';
import { adminKeyPath, profileFacts, QUEUE_PATH } from './parts.ts';

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
  const { requests, waiting, next, cantMail } = listQueue(
    access,
    context.person as Person,
    USUAL_PAGE_LENGTH,
    after || null,
  );
  const nowMs = access.clock.nowMs();
  const choosable = requests.filter((queued) => choiceFault(queued) === null).map(({ key }) => key.identifier);
  const choose = queryValue(context, 'choose').split(',');
  const chosen = new Set(choose[0] === 'all' ? choosable : choose);
  const ends = await outcomes(context);
  const path = publicPath(access.config, QUEUE_PATH);
  // Approvals send an e-mail; if that is impossible, none is offered.
  const offered = REQUEST_DECISIONS.filter(({ mailsSecret }) => !mailsSecret || cantMail === null);
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

/** What the rows of the queue need; `linkTo` returns the URL of a key's page. */
type Rows = {
  access: Deps;
  offered: readonly AnyOperation[];
  chosen: ReadonlySet<string>;
  linkTo: (identifier: string) => string;
  nowMs: number;
};

/** The requests of the queue as rows of one form, each of which opens in place and has its own buttons. */
function queueRows(requests: readonly Queued[], rows: Rows): Html {
  return html`<ul class="list" aria-label="Requests, the oldest first">${requests.map((queued) => rowOf(queued, rows))}</ul>`;
}

// A box, a row that opens, and its buttons, in this order: it is the order of the tab key.
function rowOf(queued: Queued, rows: Rows): Html {
  const { key, keysBeside } = queued;
  const { access, chosen, linkTo, nowMs } = rows;
  const { identifier, name, attempt, profile, description, requestedAt, expectedUsage } = key;
  const fault = choiceFault(queued);
  const isMailing = attempt?.result === 'open';
  const who = profile === null ? 'erased' : userText(profile);
  const box =
    fault === null
      ? html`<input type="checkbox" name="chosen" value="${identifier}"${raw(chosen.has(identifier) ? ' checked' : '')}>`
      : html`<input type="checkbox" disabled>`;
  const why = isMailing
    ? html`<p class="soft">The e-mail with the secret is on its way.</p>`
    : fault === null
      ? ''
      : html`<p class="warn">${pageSentence(fault)}</p>`;
  const wants = key.requestedPermissions.map((permission) => permission.replace('api.', '')).join(', ');
  const usage = isMailing
    ? html`<span class="usage warn">${attempt.by} is approving it</span>`
    : expectedUsage === null
      ? html`<span class="usage warn">no usage given</span>`
      : html`<span class="usage"><bdi>${beginningOf(expectedUsage, 80)}</bdi></span>`;
  const facts: ShownFact[] = [
    ['Profile', profileFacts(access, readKey(access.db, identifier).profileId)],
    ...requestFacts(key, linkTo, 'with links').slice(2),
    ['More', html`<a href="${linkTo(identifier)}">Everything, limits and permissions</a>`],
  ];
  return html`<li class="row" id="row-${identifier}" data-attempt="${attempt?.result ?? ''}">
<label class="pick">${box}<span class="unseen">Choose ${userText(name)} of ${who}</span></label>
<details><summary><span class="name"><b>${userText(name)}</b> <span class="who">${who} · ${keysBeside === 0 ? 'first key' : countText(keysBeside, 'other key')}</span></span>
<span class="begin" aria-hidden="true" dir="auto">${beginningOf(description)}</span>
<span class="wants"><span>${wants}</span> ${usage}</span>
${durationSince(Date.parse(requestedAt), nowMs)}</summary>
<div class="more"><div class="stack"><p class="text" dir="auto">${description}</p>${why}</div>${factList(facts)}</div></details>
<p class="buttons quick">${hiddenField('shown', `${identifier} ${keyRevision(access.db, identifier)}`)}${isMailing ? '' : rows.offered.map((operation) => buttonOf(operation, queued, linkTo))}</p>
</li>`;
}

/**
 * The button for one decision on a request; empty if that is not possible right now. A request that is not approved from here,
 * because its secret might go to somebody other than the owner who requested it, gets a link to its page instead.
 */
function buttonOf(operation: AnyOperation, queued: Queued, linkTo: Rows['linkTo']): Html {
  const { name, texts, mailsSecret } = operation;
  const { identifier, name: ofKey } = queued.key;
  const text = html`${texts.button}<span class="unseen"> ${ofKey}</span>`;
  if (!mailsSecret || choiceFault(queued) === null) {
    const dots = needsReason(operation) ? '…' : '';
    return html`<button class="tiny" name="${name}" value="${identifier}">${text}${dots}</button>`;
  }
  return queued.cantApprove === null ? html`<a class="button tiny" href="${linkTo(identifier)}">${text}…</a>` : html``;
}

function beginningOf(text: string, max = 300): string {
  const letters = [...text.replace(/\s+/g, ' ')];
  return letters.length <= max ? letters.join('') : `${letters.slice(0, max).join('').trimEnd()}…`;
}
