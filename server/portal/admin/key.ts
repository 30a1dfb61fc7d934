import { hasSecret, PLACE_HOLDERS } from '../../../shared/keys/key.ts';
import { shownKey } from '../../../shared/keys/key-version.ts';
import { readKey, readOwner } from '../../../shared/keys/record.ts';
import { USAGE_OUTCOMES } from '../../../shared/keys/usage-outcomes.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { othersDeciding } from '../../../shared/passkeys/pending-decisions.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performHere } from '../../thread/perform.ts';
import { attemptStatus } from '../html/attempt.ts';
import countScript from '../html/count.browser.js' with { type: 'text' };
import { errorSummary, type Faults, NO_FAULTS } from '../html/fields.ts';
import { factList, grantFacts, requestFacts, stateTag } from '../html/key-facts.ts';
import { historyTable } from '../html/key-history.ts';
import { keyTable } from '../html/key-table.ts';
import { timeText } from '../html/time.ts';
import { USAGE_DAYS, usageChart } from '../html/usage-chart.ts';
import { written } from '../html/user-text.ts';
import { decisionForms } from '../passkeys/decision-fields.ts';
import { linkIn, linkNote } from '../passkeys/decision-link.ts';
import type { Form } from '../requests/form.ts';
import type { Page, Visit } from '../requests/request-context.ts';
import { adminKeyPath, nextRequest, QUEUE_PATH } from './admin-path.ts';
import { decidedNote } from './last-decision.ts';

/** `GET /developers/admin/keys/:identifier`: everything to decide on, and the forms to do it. Throws `not_found`. */
export function adminKeyPage(visit: Visit): Promise<Page> {
  return showAdminKey(visit, null, NO_FAULTS);
}

/** The same with what was typed and what is wrong with it, where one of the forms was refused. */
export async function showAdminKey(visit: Visit, typed: Form | null, faults: Faults): Promise<Page> {
  const { access } = visit;
  const identifier = visit.params.identifier as string;
  // Read before the rest: where the key changes in between, a decision on this page is refused.
  const shown = shownKey(access, identifier);
  const { key, history } = await performHere(visit, OPERATIONS.show, { identifier });
  const linkTo = adminKeyPath(visit);
  const attempt = attemptStatus(key, history, linkTo(identifier));
  const decided = await decidedNote(visit);
  const isGranted = key.permissions.length > 0;
  const usage = isGranted ? await performHere(visit, OPERATIONS.usage, { identifier, days: USAGE_DAYS }) : null;
  const link = typed === null ? linkIn(visit.query, key, access.clock.nowMs()) : null;
  const allFaults = link === null ? faults : link.faults;
  const forms = decisionForms({
    key,
    shown,
    action: `${linkTo(identifier)}/decide`,
    access,
    typed,
    link,
    faults: allFaults,
  });
  return {
    title: `Key ${identifier}`,
    scripts: [...new Set([countScript, ...attempt.scripts, ...decided.scripts])],
    body: html`${errorSummary(allFaults)}${decided.body}<h1>${key.name === '' ? 'An erased key' : written(key.name)}</h1>
<p>Key <code data-copy="the identifier">${identifier}</code> ${stateTag(key)}</p>
${attempt.body}
<div id="rest">
${linkNote(link)}
${whoElse(visit, identifier)}
${addressNote(key)}
${banNote(visit, identifier)}
${await nextLinks(visit, key)}
<h2>What was asked for</h2>
${factList([['Profile', key.profile === null ? 'erased' : written(key.profile)], ...requestFacts(key, linkTo)])}
${isGranted ? html`<h2>What was granted</h2>${factList(grantFacts(key))}` : ''}
${usage === null ? '' : html`<h2>Usage</h2>${usageChart(usage)}`}
${await otherKeys(visit, key)}
<h2>History</h2>
${historyTable(history)}
${forms}
</div>`,
  };
}

/** Who else is at it, so that two people don't decide the same. */
function whoElse({ access, session }: Visit, identifier: string): Html {
  const signed = session?.signed;
  const others = signed?.kind === 'admin' ? othersDeciding(access, identifier, signed.name) : [];
  return html`${others.map(({ name, operation, sinceMs }) => html`<p class="note">Admin <bdi>${name}</bdi> is at it: about to ${operation} this key since ${timeText(sinceMs)}.</p>`)}`;
}

function addressNote({ addressChangedAt }: KeyView): Html {
  if (addressChangedAt === null) return html``;
  return html`<p class="note">The e-mail address of this profile was changed ${timeText(Date.parse(addressChangedAt))}, after this was requested. The secret would go to the new one: make sure that the owner is still the same.</p>`;
}

function banNote({ access: { db } }: Visit, identifier: string): Html {
  const owner = readOwner(db, readKey(db, identifier));
  if (owner === null || !owner.banned) return html``;
  return html`<p class="note">The profile <bdi>${owner.username}</bdi> is banned. Its keys are refused while the ban lasts, and none of its requests can be approved.</p>`;
}

async function nextLinks(visit: Visit, { identifier, state }: KeyView): Promise<Html> {
  const { config } = visit.access;
  const next = await nextRequest(visit, identifier);
  const goOn = next === QUEUE_PATH ? '' : html`<li><a href="${publicPath(config, next)}">Next request</a></li>`;
  const decide = PLACE_HOLDERS.some((one) => one === state) ? html`<li><a href="#decide">Decide</a></li>` : '';
  return html`<ul class="actions">${decide}${goOn}<li><a href="${publicPath(config, QUEUE_PATH)}">All requests</a></li></ul>`;
}

/** The other keys of the same profile, and what those were used for that work, or may work again. */
async function otherKeys(visit: Visit, { identifier, profile }: KeyView): Promise<Html> {
  if (profile === null) return html``;
  const { keys, lastUses } = await performHere(visit, OPERATIONS.list, { profile });
  const others = keys.filter((key) => key.identifier !== identifier);
  if (others.length === 0) return html`<h2>Other keys of this profile</h2><p>None.</p>`;
  const linkTo = adminKeyPath(visit);
  const table = keyTable({
    keys: others,
    lastUses,
    caption: 'Pending ones first, then the oldest first',
    linkTo,
    nowMs: visit.access.clock.nowMs(),
  });
  const uses: Html[] = [];
  for (const key of others.filter(({ state }) => hasSecret(state))) {
    const { days } = await performHere(visit, OPERATIONS.usage, { identifier: key.identifier, days: USAGE_DAYS });
    const total = days.reduce((sum, day) => sum + USAGE_OUTCOMES.reduce((all, outcome) => all + day[outcome], 0), 0);
    const answered = days.reduce((sum, { ok }) => sum + ok, 0);
    uses.push(
      html`<li>${key.identifier}: ${countText(total, 'request')} in the last ${USAGE_DAYS} days, ${numberText(answered)} of them answered.</li>`,
    );
  }
  return html`<h2>Other keys of this profile</h2>${table}${uses.length === 0 ? '' : html`<ul>${uses}</ul>`}`;
}
