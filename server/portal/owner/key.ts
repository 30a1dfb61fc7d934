import { hasEnded } from '../../../shared/keys/key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { allows } from '../../../shared/operations/entry.ts';
import { OPERATIONS, OWNERS_ACTIONS } from '../../../shared/operations.ts';
import { type Html, html, userText } from '../../html.ts';
import {
  endText,
  factList,
  grantFacts,
  historyList,
  levelList,
  PERMISSION_WORDS,
  requestFacts,
  stateTag,
} from '../html/key-facts.ts';
import { usageChart } from '../html/usage-chart.ts';
import { performFor } from '../requests/operation-form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { stateInWords } from './key-state.ts';
import { bannedNote, crumbs, keyMeta, ownKeyLink, ownKeyPath, ownKeys, ownProfile } from './own-profile.ts';

/** `GET /developers/keys/:identifier`: everything about one of the owner's keys, and what they can do with it. */
export async function keyPage(context: PageContext): Promise<Page> {
  const { nowMs, to } = context;
  const identifier = context.params.identifier as string;
  const { key, history } = await performFor(context, OPERATIONS.show, { identifier });
  const { state, name } = key;
  const isGranted = key.permissions.length > 0;
  const usage = isGranted ? await performFor(context, OPERATIONS.usage, { identifier }) : null;
  const usedAtMs = usage?.lastUsedAt ? Date.parse(usage.lastUsedAt) : null;
  const owner = ownProfile(context);
  const { inUse } = await ownKeys(context);
  const isWorking = state === 'Active' && key.refusedFor === null;
  const endless = state === 'Active' && key.expiresAt === null ? [endText(key, nowMs)] : [];
  const meta = [stateTag(key), ...keyMeta(context, key, usedAtMs), ...endless];
  const again =
    owner.banned || (state !== 'Active' && !hasEnded(state))
      ? null
      : state === 'Active'
        ? { href: to(`/developers/keys/new?successor-of=${identifier}`), text: 'Replace this key' }
        : { href: to(`/developers/keys/new?like=${identifier}`), text: 'Request again' };
  const chart = usage === null ? html`` : usageChart(usage, `Last ${usage.days.length} days`);
  const replacements = inUse.filter(({ successorOf }) => successorOf === identifier);
  return {
    title: name,
    where: 'API keys',
    body: html`${crumbs(context)}<div class="head"><div><h1>${userText(name)}</h1>
<p class="meta">${meta.map((part) => html`<span>${part}</span>`)}<span><code data-copy="the identifier">${identifier}</code></span></p></div>
<p class="buttons">${again === null ? '' : html`<a class="button" href="${again.href}">${state === 'Active' ? 'Replace' : again.text}</a>`}${actions(context, key, owner.banned)}</p></div>
${bannedNote(owner)}
${replacements.map((next) => html`<p class="note">${ownKeyLink(context, next)} (${next.state}) was requested to replace this key.</p>`)}
${stateInWords(key, history, again === null ? null : html`<a href="${again.href}">${again.text}</a>`)}
${isWorking ? html`<div class="beside turned">${whatIsLeft(context, key)}\n${chart}</div>` : chart}
${isWorking ? howTo(context, key, owner.username) : ''}
${state === 'pending' ? html`<section class="card">${yourRequest(context, key)}</section>` : ''}
<section aria-labelledby="history"><h2 id="history">History</h2>${historyList(history, nowMs)}</section>
${state === 'pending' ? '' : html`<details><summary class="soft">What was asked for${isGranted ? ' and granted' : ''}</summary><div class="card">${yourRequest(context, key)}${factList(grantFacts(key))}</div></details>`}`,
  };
}

/** Links to the actions that this state allows; each leads to a page that asks for confirmation. */
function actions(context: PageContext, key: KeyView, isBanned: boolean): Html[] {
  return OWNERS_ACTIONS.filter(
    ([operation]) => allows(operation, key) && !(isBanned && operation.who.owner === 'own, unless banned'),
  ).map(
    ([{ texts, isDangerous }, { path }]) =>
      html`<a class="button" href="${ownKeyPath(context, key.identifier)}/${path}">${texts.button}${isDangerous ? '…' : ''}</a>`,
  );
}

function whatIsLeft({ service, nowMs }: PageContext, key: KeyView): Html {
  const may = key.permissions.map((permission) => PERMISSION_WORDS[permission]).join(' and ');
  return html`<section class="card" aria-labelledby="left"><h2 id="left">What is left</h2>
${levelList(service.limits.levelsOf(key), nowMs)}
<p class="soft">It may ${may}. Need more? Replace it, and say why.</p></section>`;
}

/** Two lines that look up the owner's own profile, or request the leaderboard if the key may only do that. */
function howTo({ config, to }: PageContext, { permissions }: KeyView, username: string): Html {
  // A quote would end the shell's word.
  const path = permissions.includes('api.lookup') ? `lookup/username/${encodeURIComponent(username)}` : 'leaderboard';
  const url = `${config.publicUrl}/api/${path}`.replaceAll("'", '%27');
  const lines = `read -rs SECRET   # paste it, press Enter\ncurl -H "Authorization: Bearer $SECRET" '${url}'`;
  return html`<section class="card" aria-labelledby="use"><div class="head"><h2 id="use">Use it</h2></div>
<pre class="shell" tabindex="0"><code data-copy="the lines">${lines}</code></pre>
<p class="soft">Base URL <code>${config.publicUrl}/api</code> · <a href="${to('/docs')}">documentation</a></p></section>`;
}

function yourRequest(context: PageContext, key: KeyView): Html {
  // The first two facts are the heading of the page and the text above.
  const [, , ...asked] = requestFacts(key, (identifier) => ownKeyPath(context, identifier));
  return html`<p class="text" dir="auto">${key.description}</p>${factList(asked)}`;
}
