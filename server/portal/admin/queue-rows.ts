import { choiceFault, type Queued } from '../../../shared/approval/queue.ts';
import type { Deps } from '../../../shared/deps.ts';
import { keyRevision } from '../../../shared/keys/revision.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html, raw } from '../../html.ts';
import { hiddenField } from '../html/fields.ts';
import { factList, requestFacts } from '../html/key-facts.ts';
import { pageSentence, relativeTime } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import { needsReason } from './decision-forms.ts';

/** What the rows of the queue need; `linkTo` returns the URL of a key's page. */
export type Rows = {
  access: Deps;
  offered: readonly AnyOperation[];
  chosen: ReadonlySet<string>;
  linkTo: (identifier: string) => string;
  nowMs: number;
};

/** The requests of the queue as rows of one form, each with the facts for its decision and with its own buttons. */
export function queueRows(requests: readonly Queued[], rows: Rows): Html {
  return html`<ol class="rows plain">${requests.map((queued) => rowOf(queued, rows))}</ol>`;
}

function rowOf(queued: Queued, rows: Rows): Html {
  const { key } = queued;
  const { access, chosen, linkTo, nowMs } = rows;
  const { identifier, name, attempt } = key;
  const fault = choiceFault(queued);
  const isMailing = attempt?.result === 'open';
  const box =
    fault === null
      ? html`<input type="checkbox" name="chosen" value="${identifier}" aria-label="Choose ${name}"${raw(chosen.has(identifier) ? ' checked' : '')}>`
      : '';
  const why = isMailing
    ? html`<p class="soft">${attempt.by} is approving it: the e-mail is on its way.</p>`
    : fault === null
      ? ''
      : html`<p class="fault">${pageSentence(fault)}</p>`;
  return html`<li class="row" id="row-${identifier}" data-attempt="${attempt?.result ?? ''}">
<div class="choose">${box}${hiddenField('shown', `${identifier} ${keyRevision(access.db, identifier)}`)}</div>
<h2><a href="${linkTo(identifier)}">${userText(name)}</a></h2>
<p class="buttons">${isMailing ? '' : rows.offered.map((operation) => buttonOf(operation, queued, linkTo))}</p>
<details><summary><span class="facts">${factsInWords(queued, nowMs)}</span><span class="begin"><bdi>${beginningOf(key.description)}</bdi></span></summary>${factList(requestFacts(key, linkTo).slice(1))}</details>
${why}
</li>`;
}

/**
 * The button for one decision on a request; empty if that is not possible right now. A request that is not approved from here,
 * because its secret might go to somebody other than the owner who requested it, gets a link to its page instead.
 */
function buttonOf(operation: AnyOperation, queued: Queued, linkTo: Rows['linkTo']): Html {
  const { name, texts, continuation } = operation;
  const { identifier, name: ofKey } = queued.key;
  const text = html`${texts.button}<span class="unseen"> ${ofKey}</span>`;
  if (continuation === null || choiceFault(queued) === null)
    return html`<button class="second" name="${name}" value="${identifier}">${text}${needsReason(operation) ? '…' : ''}</button>`;
  return queued.cantApprove === null
    ? html`<a class="button second" href="${linkTo(identifier)}">${text}…</a>`
    : html``;
}

function factsInWords({ key, keysBeside }: Queued, nowMs: number): Html {
  const facts = [
    key.profile === null ? 'erased' : userText(key.profile),
    keysBeside === 0 ? 'first key' : countText(keysBeside, 'other key'),
    relativeTime(Date.parse(key.requestedAt), nowMs),
    key.requestedPermissions.map((permission) => permission.replace('api.', '')).join(' + '),
    key.expectedUsage === null
      ? html`<em class="missing">no usage given</em>`
      : html`<bdi>${beginningOf(key.expectedUsage, 80)}</bdi>`,
    ...(key.projectUrl === null ? [] : [html`<bdi>${hostOf(key)}</bdi>`]),
  ];
  return html`${facts.map((fact, at) => (at === 0 ? fact : html` · ${fact}`))}`;
}

function beginningOf(text: string, max = 300): string {
  const letters = [...text.replace(/\s+/g, ' ')];
  return letters.length <= max ? letters.join('') : `${letters.slice(0, max).join('').trimEnd()}…`;
}

function hostOf({ projectUrl }: KeyView): string {
  return projectUrl !== null && URL.canParse(projectUrl) ? new URL(projectUrl).host : '';
}
