import { choiceFault, type Queued } from '../../../shared/approval/queue.ts';
import type { Deps } from '../../../shared/deps.ts';
import { readKey } from '../../../shared/keys/record.ts';
import { keyRevision } from '../../../shared/keys/revision.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html, raw } from '../../html.ts';
import { hiddenField } from '../html/fields.ts';
import { factList, requestFacts, type ShownFact } from '../html/key-facts.ts';
import { durationSince, pageSentence } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import { needsReason } from './decision-forms.ts';
import { profileFacts } from './profile-facts.ts';

/** What the rows of the queue need; `linkTo` returns the URL of a key's page. */
export type Rows = {
  access: Deps;
  offered: readonly AnyOperation[];
  chosen: ReadonlySet<string>;
  linkTo: (identifier: string) => string;
  nowMs: number;
};

/** The requests of the queue as rows of one form, each of which opens in place and has its own buttons. */
export function queueRows(requests: readonly Queued[], rows: Rows): Html {
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
  const { name, texts, continuation } = operation;
  const { identifier, name: ofKey } = queued.key;
  const text = html`${texts.button}<span class="unseen"> ${ofKey}</span>`;
  if (continuation === null || choiceFault(queued) === null) {
    const dots = needsReason(operation) ? '…' : '';
    return html`<button class="tiny" name="${name}" value="${identifier}">${text}${dots}</button>`;
  }
  return queued.cantApprove === null ? html`<a class="button tiny" href="${linkTo(identifier)}">${text}…</a>` : html``;
}

function beginningOf(text: string, max = 300): string {
  const letters = [...text.replace(/\s+/g, ' ')];
  return letters.length <= max ? letters.join('') : `${letters.slice(0, max).join('').trimEnd()}…`;
}
