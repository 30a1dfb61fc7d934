import type { KeyView } from '../../../shared/keys/view.ts';
import type { Level } from '../../../shared/limits/limits.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, OWNERS_ACTIONS } from '../../../shared/operations.ts';
import type { UsageView } from '../../../shared/usage/usage.ts';
import { type Html, html, userText } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
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
import {
  bannedNote,
  crumbs,
  holderList,
  isFull,
  keyMeta,
  keysInUse,
  ownKeyPath,
  ownProfile,
  refusedNote,
} from './own-profile.ts';

/** `GET /developers/keys/:identifier`: everything about one of the owner's keys, and what they can do with it. */
export async function keyPage(context: PageContext): Promise<Page> {
  const identifier = context.params.identifier as string;
  const { key, history } = await performFor(context, OPERATIONS.show, { identifier });
  const isGranted = key.permissions.length > 0;
  const usage = isGranted ? await performFor(context, OPERATIONS.usage, { identifier }) : null;
  const usedAtMs = usage?.lastUsedAt ? Date.parse(usage.lastUsedAt) : null;
  const levels = context.services.limits.levelsOf(key);
  const owner = ownProfile(context);
  const inUse = keysInUse((await performFor(context, OPERATIONS.list, {})).keys);
  const request = requestOffered(context, key, inUse, owner.banned);
  const endless = key.state === 'Active' && key.expiresAt === null ? [endText(key, context.access.clock.nowMs())] : [];
  return {
    title: key.name,
    where: 'API keys',
    body: html`${crumbs(context)}<div class="head"><div><h1>${userText(key.name)}</h1>
<p class="meta">${[stateTag(key), ...keyMeta(context, key, usedAtMs), ...endless].map((part) => html`<span>${part}</span>`)}<code data-copy="the identifier">${identifier}</code></p></div>${actions(context, key, request, owner.banned)}</div>
${bannedNote(owner)}
${replacements(context, identifier, inUse)}
${usage === null || key.state !== 'Active' ? '' : refusedNote(context, usage, levels)}
${stateInWords(key, history, request?.link ?? null)}
${key.state === 'Active' ? '' : (request?.hindrance ?? '')}
${usage === null ? '' : working(context, key, usage, levels)}
${key.state === 'Active' ? (request?.hindrance ?? '') : ''}
${key.state === 'Active' && key.refusedFor === null ? howTo(context) : ''}
${key.state === 'pending' ? html`<section class="card">${yourRequest(context, key)}</section>` : ''}
<section aria-labelledby="history"><h2 id="history">History</h2>${historyList(history, context.access.clock.nowMs())}</section>
${key.state === 'pending' ? '' : html`<details><summary class="soft">What was asked for${isGranted ? ' and granted' : ''}</summary><div class="card">${yourRequest(context, key)}${factList(grantFacts(key))}</div></details>`}`,
  };
}

/** How to request another key like this one: the link and, if all slots are taken, a note about the keys that take them. */
type Request = { href: string; text: string; link: Html; hindrance: Html | null } | { link: null; hindrance: Html };

/** Null if the key's state does not allow it or the profile is banned. */
function requestOffered(
  context: PageContext,
  { identifier, state }: KeyView,
  inUse: readonly KeyView[],
  isBanned: boolean,
): Request | null {
  if (isBanned || state === 'pending' || state === 'suspended') return null;
  const isReplaced = state === 'Active';
  const text = isReplaced ? 'Replace this key' : 'Request again';
  const offered = (href: string, hindrance: Html | null) => {
    return { href, text, link: html`<a href="${href}">${text}</a>`, hindrance };
  };
  if (isFull(inUse)) {
    const held = html`All ${inUse.length} keys are in use, requests included. End one first:`;
    const list = holderList(context, inUse, identifier);
    if (!isReplaced) return { link: null, hindrance: html`<p>You can’t request it again yet. ${held}</p>${list}` };
    return offered('#replace', html`<section id="replace"><h2>${text}</h2><p>${held}</p>${list}</section>`);
  }
  const query = isReplaced ? `successor-of=${identifier}` : `like=${identifier}`;
  return offered(publicPath(context.access.config, `/developers/keys/new?${query}`), null);
}

/** The keys that were requested to replace this one and have not ended, each in a note. */
function replacements(context: PageContext, identifier: string, inUse: readonly KeyView[]): Html {
  const linkTo = ownKeyPath(context);
  const notes = inUse
    .filter(({ successorOf }) => successorOf === identifier)
    .map(
      (next) =>
        html`<p class="note"><a href="${linkTo(next.identifier)}">${userText(next.name)}</a> (${next.state}) was requested to replace this key.</p>`,
    );
  return html`${notes}`;
}

function isOffered({ from, who }: AnyOperation, state: KeyView['state'], isBanned: boolean): boolean {
  return (from === null || from.includes(state)) && !(isBanned && who.owner === 'own, unless banned');
}

/** Links to the actions that this state allows; each leads to a page that asks for confirmation. */
function actions(
  context: PageContext,
  { identifier, state }: KeyView,
  request: Request | null,
  isBanned: boolean,
): Html {
  const first = request?.link
    ? html`<a class="button" href="${request.href}">${state === 'Active' ? 'Replace' : request.text}</a>`
    : '';
  const links = OWNERS_ACTIONS.filter(([operation]) => isOffered(operation, state, isBanned)).map(
    ([{ texts, isDangerous }, { path }]) =>
      html`<a class="button" href="${ownKeyPath(context)(identifier)}/${path}">${texts.button}${isDangerous ? '…' : ''}</a>`,
  );
  return html`<p class="buttons">${first}${links}</p>`;
}

/** The usage of a granted key and, while it can be used, what is left of its limits. */
function working({ access }: PageContext, key: KeyView, usage: UsageView, levels: readonly Level[]): Html {
  const chart = usageChart(usage, `Last ${usage.days.length} days`);
  if (key.state !== 'Active' || key.refusedFor !== null) return chart;
  const may = key.permissions.map((permission) => PERMISSION_WORDS[permission]).join(' and ');
  return html`<div class="beside turned"><section class="card" aria-labelledby="left"><h2 id="left">What is left</h2>
${levelList(levels, access.clock.nowMs())}
<p class="soft">It may ${may}. Need more? Replace it, and say why.</p></section>
${chart}</div>`;
}

/** Two lines that look up the owner's own profile, or read the leaderboard. */
function howTo(context: PageContext): Html {
  const { config } = context.access;
  const { username } = ownProfile(context);
  // A quote would end the shell's word.
  const url = `${config.publicUrl}/api/lookup/username/${encodeURIComponent(username)}`.replaceAll("'", '%27');
  const lines = `read -rs SECRET   # paste it, press Enter\ncurl -H "Authorization: Bearer $SECRET" '${url}'`;
  return html`<section class="card" aria-labelledby="use"><div class="head"><h2 id="use">Use it</h2></div>
<pre class="shell" tabindex="0"><code data-copy="the lines">${lines}</code></pre>
<p class="soft">Base URL <code>${config.publicUrl}/api</code> · <a href="${publicPath(config, '/docs')}">documentation</a></p></section>`;
}

function yourRequest(context: PageContext, key: KeyView): Html {
  // The first two facts are the heading of the page and the text above.
  const [, , ...asked] = requestFacts(key, ownKeyPath(context));
  return html`<p class="text" dir="auto">${key.description}</p>${factList(asked)}`;
}
