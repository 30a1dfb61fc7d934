import { choiceFault, type Queued } from '../../../shared/approval/queue.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html, raw } from '../../html.ts';
import { buttonLook } from '../html/fields.ts';
import { factList, requestFacts } from '../html/key-facts.ts';
import { pageSentence, relativeTime } from '../html/time.ts';
import { userText } from '../html/user-text.ts';

/** What the rows of the queue need; `linkTo` returns the URL of a key's page. */
export type Rows = {
  offered: readonly AnyOperation[];
  chosen: ReadonlySet<string>;
  linkTo: (identifier: string) => string;
  nowMs: number;
};

/** The requests of the queue as rows of one form, each with the facts for its decision and with its own buttons. */
export function queueRows(requests: readonly Queued[], rows: Rows): Html {
  return html`<ol class="rows plain">${requests.map((queued) => rowOf(queued, rows))}</ol>`;
}

function rowOf(queued: Queued, { offered, chosen, linkTo, nowMs }: Rows): Html {
  const { key } = queued;
  const { identifier, name } = key;
  const fault = choiceFault(queued);
  const isChosen = chosen.has(identifier) && fault === null;
  const box =
    fault === null
      ? html`<input type="checkbox" name="chosen" value="${identifier}" aria-label="Select ${name}"${raw(isChosen ? ' checked' : '')}>`
      : '';
  return html`<li class="row" tabindex="-1" data-row>
<div class="choose">${box}</div>
<h2><a href="${linkTo(identifier)}">${userText(name)}</a></h2>
<p class="buttons">${offered.map((operation) => buttonOf(operation, queued, linkTo))}</p>
<details><summary><span class="facts">${factsInWords(queued, nowMs)}</span><span class="begin"><bdi>${beginningOf(key.description)}</bdi></span></summary>${factList(requestFacts(key, linkTo).slice(1))}</details>
${fault === null ? '' : html`<p class="fault">${pageSentence(fault)}</p>`}
</li>`;
}

/**
 * The button for one decision on a request; empty if that is not possible right now. A request that can't be approved together
 * with others, because its secret might go to somebody other than the owner who requested it, gets a link to its page instead.
 */
function buttonOf(
  { name, texts, continuation, isDangerous }: AnyOperation,
  queued: Queued,
  linkTo: Rows['linkTo'],
): Html {
  const { identifier, name: ofKey } = queued.key;
  const text = html`${texts.button}…<span class="unseen"> ${ofKey}</span>`;
  if (continuation === null || choiceFault(queued) === null)
    return html`<button${buttonLook({ isSecond: true, isDangerous })} name="${name}" value="${identifier}">${text}</button>`;
  return queued.cantApprove === null ? html`<a class="button second" href="${linkTo(identifier)}">${text}</a>` : html``;
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
