import { choiceFault, listQueue, type Queued } from '../../../shared/approval/queue.ts';
import { beginSnapshot } from '../../../shared/db/connect.ts';
import { USUAL_PAGE_LENGTH } from '../../../shared/keys/fields.ts';
import { keyRevision, readKey } from '../../../shared/keys/record.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { REQUEST_DECISIONS } from '../../../shared/operations.ts';
import type { SignedInPerson } from '../../../shared/sign-in/sessions.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html, raw, userText } from '../../html.ts';
import { buttonLook, errorSummary, type Faults, hiddenField, NO_ENTER, NO_FAULTS } from '../html/fields.ts';
import { factList, permissionNames, requestFacts, type ShownFact } from '../html/key-facts.ts';
import { durationSince, pageSentence, spanText } from '../html/time.ts';
import { oneValue, queryValue } from '../requests/form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { outcomes } from './outcomes.ts';
import { adminKeyPath, pageLinks, profileFacts, QUEUE_PATH, readAfter, searchForm } from './parts.ts';

/** The names and values of the fields that lead back to the part of the queue from which a form or a link comes. */
export function partFields(context: PageContext): [name: string, value: string][] {
  const after = readAfter(queryValue(context, 'after') || oneValue(context.form, 'after'));
  return after === '' ? [] : [['after', after]];
}

/** The URL of the same part of the queue, with these requests chosen. */
export function partAddress(context: PageContext, chosen: readonly string[]): string {
  const fields = [...partFields(context), ['choose', chosen.join()]];
  return `${context.to(QUEUE_PATH)}?${new URLSearchParams(fields as [string, string][])}`;
}

/** `GET /developers/admin`: the requests that are waiting, oldest first, below the outcomes of the last decisions. */
export function queue(context: PageContext): Promise<Page> {
  return showQueue(context, NO_FAULTS);
}

/** The same page, with the errors of its form if that was refused. */
export async function showQueue(context: PageContext, faults: Faults): Promise<Page> {
  const path = context.to(QUEUE_PATH);
  const part = partFields(context);
  const after = part[0]?.[1] ?? null;
  const ends = await outcomes(context);
  // Outside a transaction, each statement takes its own locks, which can take as long as the statement itself.
  using _ = beginSnapshot(context.deps.db.$client);
  const { requests, waiting, next, cantMail } = listQueue(
    context.deps,
    context.person as SignedInPerson,
    USUAL_PAGE_LENGTH,
    after,
  );
  const choosable = requests.filter((queued) => choiceFault(queued) === null).map(({ key }) => key.identifier);
  const choose = queryValue(context, 'choose').split(',');
  const chosen = new Set(choose[0] === 'all' ? choosable : choose);
  // Approvals send an e-mail; if that is impossible, none is offered.
  const offered = REQUEST_DECISIONS.filter(({ mailsSecret }) => !mailsSecret || cantMail === null);
  const rows = requests.map((queued) => rowOf(context, queued, offered, chosen.has(queued.key.identifier)));
  // A reset would choose again what this page was asked to choose.
  const clear =
    choose[0] === ''
      ? html`<button class="bare" type="reset">Clear</button>`
      : html`<a class="button bare" href="${partAddress(context, [])}">Clear</a>`;
  const form = html`<form class="queue" method="post" action="${path}/decide" novalidate>${NO_ENTER}${part.map(([name, value]) => hiddenField(name, value))}<ul class="list" aria-label="Requests, the oldest first">${rows}</ul>
<p class="bar"><span class="count">chosen</span>${offered.map(barButton)}${clear}</p></form>`;
  const oldest = after === null ? requests[0] : undefined;
  const all =
    choosable.length < 2
      ? ''
      : html`. <a href="${partAddress(context, ['all'])}">Choose all ${after === null && next === null ? '' : 'on this page'}</a>`;
  return {
    title: waiting === 0 ? 'Requests' : `(${numberText(waiting)}) Requests`,
    scripts: ends.scripts,
    body: html`${errorSummary(faults)}<div class="head"><div><h1>Requests</h1><p class="soft" id="waiting">${waiting === 0 ? noneInWords(context) : html`${waitingInWords(context, waiting, oldest)}${all}`}</p></div>${searchForm(context, '')}</div>
${ends.body}${waiting > 0 && cantMail !== null ? html`<p class="note">${cantMail}</p>` : ''}
${requests.length > 0 ? form : ''}
${pageLinks(path, {}, after ?? '', next)}`,
  };
}

function barButton({ name, texts, isDangerous }: AnyOperation): Html {
  return html`<button${buttonLook({ isSecond: isDangerous })} name="${name}" value="">${texts.button}${isDangerous ? '…' : ' as requested'}</button> `;
}

function noneInWords({ config }: PageContext): string {
  const mail = config.adminEmails.length > 0 ? ', and admins get an e-mail' : '';
  return `No requests are waiting. New ones appear here${mail}.`;
}

/** How many requests (at least one) are waiting and, if known, for how long the oldest has been. */
function waitingInWords({ nowMs }: PageContext, waiting: number, oldest: Queued | undefined): string {
  const are = `${countText(waiting, 'request')} ${waiting === 1 ? 'is' : 'are'} waiting`;
  if (oldest === undefined) return are;
  return `${are}, ${waiting === 1 ? '' : 'the oldest '}for ${spanText(nowMs - Date.parse(oldest.key.requestedAt))}`;
}

/**
 * A request as a row of the form. Its box, the part that opens in place, and its buttons come in this order because the tab key
 * follows it.
 */
function rowOf(context: PageContext, queued: Queued, offered: readonly AnyOperation[], isChosen: boolean): Html {
  const { deps, nowMs } = context;
  const { key, keysBeside } = queued;
  const { identifier, name, attempt, profile, description, requestedAt, expectedUsage } = key;
  const linkTo = adminKeyPath(context);
  const fault = choiceFault(queued);
  const isMailing = attempt?.result === 'open';
  const who = profile === null ? 'erased' : userText(profile);
  const box =
    fault === null
      ? html`<input type="checkbox" name="chosen" value="${identifier}"${raw(isChosen ? ' checked' : '')}>`
      : html`<input type="checkbox" disabled>`;
  const why = isMailing
    ? html`<p class="soft">${attempt.by} approved it. The e-mail with the secret is on its way.</p>`
    : fault === null
      ? ''
      : html`<p class="warn">${pageSentence(fault)}</p>`;
  const usage = isMailing
    ? html`<span class="usage warn">mailing</span>`
    : expectedUsage === null
      ? html`<span class="usage warn">no usage given</span>`
      : html`<span class="usage"><bdi>${beginningOf(expectedUsage, 80)}</bdi></span>`;
  const facts: ShownFact[] = [
    ['Profile', profileFacts(deps, readKey(deps.db, identifier).profileId)],
    ...requestFacts(key, linkTo, 'with links').slice(2),
    ['More', html`<a href="${linkTo(identifier)}">All details, limits and permissions</a>`],
  ];
  return html`<li class="row" id="row-${identifier}" data-attempt="${attempt?.result ?? ''}">
<label class="pick">${box}<span class="unseen">Choose ${userText(name)} of ${who}</span></label>
<details><summary><span class="name"><b>${userText(name)}</b> <span class="who">${who} · ${keysBeside === 0 ? 'first key' : countText(keysBeside, 'other key')}</span></span>
<span class="begin" aria-hidden="true" dir="auto">${beginningOf(description, 300)}</span>
<span class="wants"><span>${permissionNames(key)}</span> ${usage}</span>
${durationSince(Date.parse(requestedAt), nowMs)}</summary>
<div class="more"><div class="stack"><p class="text" dir="auto">${description}</p>${why}</div>${factList(facts)}</div></details>
<p class="buttons quick">${hiddenField('shown', `${identifier} ${keyRevision(deps.db, identifier)}`)}${isMailing ? '' : offered.map((one) => rowButton(one, queued, linkTo(identifier)))}</p>
</li>`;
}

/**
 * The button for one decision on a request; empty if that is not possible right now. A request that is not approved from here,
 * because its secret might go to somebody other than the owner who requested it, gets a link to its page instead.
 */
function rowButton({ name, texts, mailsSecret, isDangerous }: AnyOperation, queued: Queued, page: string): Html {
  const { identifier, name: ofKey } = queued.key;
  const text = html`${texts.button}<span class="unseen"> ${ofKey}</span>`;
  if (!mailsSecret || choiceFault(queued) === null) {
    return html`<button class="tiny" name="${name}" value="${identifier}">${text}${isDangerous ? '…' : ''}</button>`;
  }
  return queued.cantApprove === null ? html`<a class="button tiny" href="${page}">${text}…</a>` : html``;
}

function beginningOf(text: string, max: number): string {
  const letters = [...text.replace(/\s+/g, ' ')];
  return letters.length <= max ? letters.join('') : `${letters.slice(0, max).join('').trimEnd()}…`;
}
