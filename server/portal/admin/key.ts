import { hasEnded, hasSecret, SLOT_HOLDERS } from '../../../shared/keys/key.ts';
import { queuePlace } from '../../../shared/keys/list.ts';
import { keyRevision, type Owner, readKey, readOwner } from '../../../shared/keys/record.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { numberText } from '../../../shared/text.ts';
import { type Html, html, userText } from '../../html.ts';
import countScript from '../html/count.browser.js' with { type: 'text' };
import { errorSummary, type Faults, NO_FAULTS } from '../html/fields.ts';
import {
  endText,
  factList,
  grantFacts,
  historyList,
  keyList,
  lastMove,
  reasonOf,
  requestFacts,
  type ShownFact,
  stateTag,
} from '../html/key-facts.ts';
import { durationSince, relativeTime, timeText } from '../html/time.ts';
import { usageChart } from '../html/usage-chart.ts';
import type { Form } from '../requests/form.ts';
import { performFor } from '../requests/operation-form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { decisionForms } from './decision-forms.ts';
import { attemptStatus } from './outcomes.ts';
import { ADMIN_KEYS_PATH, adminKeyPath, profileCard, QUEUE_PATH, sectionOf } from './parts.ts';

/** `GET /developers/admin/keys/:identifier`: everything about a key, and the forms to decide on it. Throws `not_found`. */
export function adminKeyPage(context: PageContext): Promise<Page> {
  return showAdminKey(context, null, NO_FAULTS);
}

/** The same page; if one of its forms was refused, with what was typed and the errors. */
export async function showAdminKey(context: PageContext, typed: Form | null, faults: Faults): Promise<Page> {
  const { deps, nowMs } = context;
  const identifier = context.params.identifier as string;
  // Read before the rest: if the key changes in between, decisions from this page are refused.
  const revision = keyRevision(deps.db, identifier);
  const { key, history } = await performFor(context, OPERATIONS.show, { identifier });
  const linkTo = adminKeyPath(context);
  const owner = readOwner(deps.db, readKey(deps.db, identifier));
  const attempt = attemptStatus(key, history, { path: linkTo(identifier), nowMs });
  const isGranted = key.permissions.length > 0;
  const usage = isGranted ? await performFor(context, OPERATIONS.usage, { identifier }) : null;
  const others = await otherKeys(context, key);
  const decision = decisionForms(context, { key, revision, typed, faults });
  const name = key.name === '' ? 'An erased key' : key.name;
  const move = lastMove(key, history);
  return {
    title: name,
    where: sectionOf(key),
    scripts: [countScript, ...attempt.scripts],
    body: html`${decision === null ? '' : html`<a class="skip" href="#decide">To the decision</a>`}${errorSummary(faults)}
${crumbs(context, key)}<div class="head"><div><h1 id="heading">${userText(name)}</h1>
<p class="meta"><span class="meta" id="state">${stateParts(key, move, nowMs).map((part) => html`<span>${part}</span>`)}</span><span><code data-copy="the identifier">${identifier}</code></span></p></div></div>${reasonOf(move)}
${attempt.body}
<div id="rest" class="stack">
${addressNote(key)}
${banNote(owner)}
<div class="beside"><div class="stack">
<section class="card" aria-label="The request">${owner === null ? html`<p class="soft">Its profile was erased.</p>` : profileCard(deps, owner)}<hr>
<p class="text" dir="auto">${key.description}</p><hr>
${factList([...requestFacts(key, linkTo, 'with links').slice(2), ...others.facts, ...mailFact(owner, key), ...grantFacts(key)])}</section>
${usage === null ? '' : usageChart(usage, `Last ${usage.days.length} days`)}
${others.below}
<details><summary class="soft">History (${numberText(history.length)})</summary>${historyList(history, nowMs)}</details>
</div>
${decision ?? ''}</div>
</div>`,
  };
}

/** The state of a key: how long it has been pending or stopped, or when it ended; by whom; and when an Active one ends. */
function stateParts(key: KeyView, move: HistoryView | undefined, nowMs: number): Html[] {
  const { state, expiresAt } = key;
  const ending = state === 'Active' || (hasSecret(state) && expiresAt) ? [endText(key, nowMs)] : [];
  if (state === 'expired' && expiresAt !== null) {
    return [html`${stateTag(key)} ${relativeTime(Date.parse(expiresAt), nowMs)}`];
  }
  if (state === 'Active' || move === undefined) return [stateTag(key), ...ending];
  const atMs = Date.parse(move.at);
  const when = hasEnded(state) ? relativeTime(atMs, nowMs) : html`for ${durationSince(atMs, nowMs)}`;
  const by = state === 'pending' ? '' : html` by ${userText(move.by)}`;
  return [html`${stateTag(key)} ${when}${by}`, ...ending];
}

/** The e-mail address to which the secret of a request would be sent. */
function mailFact(owner: Owner | null, { state, addressChangedAt }: KeyView): ShownFact[] {
  if (state !== 'pending' || !owner?.email) return [];
  const since = `(${addressChangedAt === null ? 'unchanged' : 'changed'} since the request)`;
  return [['Secret goes to', html`${userText(owner.email)} ${since}`]];
}

function addressNote({ addressChangedAt }: KeyView): Html {
  if (addressChangedAt === null) return html``;
  return html`<p class="note">The e-mail address of this profile was changed ${timeText(Date.parse(addressChangedAt))}, after this was requested. The secret would go to the new address: make sure that the owner is still the same.</p>`;
}

function banNote(owner: Owner | null): Html {
  if (owner === null || !owner.banned) return html``;
  return html`<p class="note">The profile <bdi>${owner.username}</bdi> is banned. Its keys are refused while the ban lasts, and none of its requests can be approved.</p>`;
}

/** The way back to the queue, with the position in it and links to the requests beside it, or to the list of keys. */
function crumbs(context: PageContext, { identifier, state }: KeyView): Html {
  const link = (path: string, text: string) => html`<a href="${context.to(path)}">${text}</a>`;
  const label = html` aria-label="Breadcrumb"`;
  if (state !== 'pending') return html`<nav class="crumbs"${label}>${link(ADMIN_KEYS_PATH, 'Keys')}</nav>`;
  const { position, waiting, previous, next } = queuePlace(context.deps, identifier);
  const beside = (one: string | null, text: string) => (one === null ? [] : [link(`${ADMIN_KEYS_PATH}/${one}`, text)]);
  const place = `${numberText(position)} of ${numberText(waiting)}`;
  return html`<nav class="crumbs"${label}><span>${link(QUEUE_PATH, 'Requests')} ${place}</span><span>${beside(previous, '← Previous')}${beside(next, 'Next →')}</span></nav>`;
}

/** The other keys of the same profile: how many there are, and below the decision a list. */
async function otherKeys(context: PageContext, { identifier, profile }: KeyView) {
  const none: { facts: ShownFact[]; below: Html } = { facts: [], below: html`` };
  if (profile === null) return none;
  const { keys, lastUses } = await performFor(context, OPERATIONS.list, { profile });
  const others = keys.filter((key) => key.identifier !== identifier);
  if (others.length === 0) return { ...none, facts: [['Other keys', 'none, now or before']] satisfies ShownFact[] };
  const states = others.map(({ state }) => (hasEnded(state) ? 'ended' : state));
  const each = [...SLOT_HOLDERS, 'ended'].map((word) => `${states.filter((one) => one === word).length} ${word}`);
  const counts = each.filter((text) => !text.startsWith('0 ')).join(', ');
  const list = keyList({ keys: others, lastUses, linkTo: adminKeyPath(context), nowMs: context.nowMs });
  return {
    facts: [['Other keys', html`<a href="#others">${counts}</a>`]] satisfies ShownFact[],
    below: html`<section aria-labelledby="others"><h2 id="others">Other keys of this profile</h2>${list}</section>`,
  };
}
