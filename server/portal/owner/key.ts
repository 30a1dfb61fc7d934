import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import type { Level } from '../../../shared/limits/limits.ts';
import { curlLine } from '../../../shared/mail/texts/key-mails.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, OWNERS_ACTIONS } from '../../../shared/operations.ts';
import { numberText } from '../../../shared/text.ts';
import type { UsageView } from '../../../shared/usage/usage-view.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { endText, factList, grantFacts, joined, requestFacts, stateTag } from '../html/key-facts.ts';
import { historyTable } from '../html/key-history.ts';
import { levelList } from '../html/limit-levels.ts';
import { usageChart } from '../html/usage-chart.ts';
import { userText } from '../html/user-text.ts';
import { performFor } from '../requests/perform.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { keyMeta } from './key-meta.ts';
import { stateInWords } from './key-state.ts';
import { bannedNote, crumbs, holderList, isFull, keysInUse, ownKeyPath, ownProfile } from './own-profile.ts';
import { refusedNote } from './refused-lately.ts';

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
    body: html`${crumbs(context)}<div class="headline"><div class="about"><h1>${userText(key.name)}</h1>
<p class="meta">${joined([html`${stateTag(key)} <code data-copy="the identifier">${identifier}</code>`, ...keyMeta(context, key, usedAtMs), ...endless])}</p></div>${actions(context, key, request, owner.banned)}</div>
${bannedNote(owner)}
${replacements(context, identifier, inUse)}
${usage === null || key.state !== 'Active' ? '' : refusedNote(context, usage, levels)}
${stateInWords(key, history, request?.link ?? null)}
${key.state === 'Active' ? '' : (request?.hindrance ?? '')}
${usage === null ? '' : working(context, key, usage, levels)}
${key.state === 'Active' ? (request?.hindrance ?? '') : ''}
${folds(context, key, history, isGranted)}`,
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
    ? html`<li><a href="${request.href}">${state === 'Active' ? 'Replace…' : request.text}</a></li>`
    : '';
  const links = OWNERS_ACTIONS.filter(([operation]) => isOffered(operation, state, isBanned)).map(
    ([{ texts, isDangerous }, { path }]) =>
      html`<li><a${raw(isDangerous ? ' class="danger"' : '')} href="${ownKeyPath(context)(identifier)}/${path}">${texts.button}${isDangerous ? '…' : ''}</a></li>`,
  );
  return html`<ul class="actions">${first}${links}</ul>`;
}

/** The usage of a granted key and, while it can be used, what is left of its limits and how to use it. */
function working({ access }: PageContext, key: KeyView, usage: UsageView, levels: readonly Level[]): Html {
  const chart = html`<section><h2>Last ${usage.days.length} days</h2>${usageChart(usage)}</section>`;
  if (key.state !== 'Active' || key.refusedFor !== null) return chart;
  return html`<div class="columns"><div>
<section><h2>What is left now</h2>${levelList(levels, access.clock.nowMs())}</section>
${chart}</div>
<section><h2>Use it</h2>${howTo(access.config)}</section></div>`;
}

function howTo(config: PageContext['access']['config']): Html {
  const { publicUrl } = config;
  return html`${copyBlock('Base URL', 'the base URL', `${publicUrl}/api`)}
<p>Try it: paste this line into a terminal, then paste the secret. It shows what the key may do, and doesn’t count against its limits.</p>
${copyBlock('Shell', 'the line', curlLine(publicUrl))}
<p><a href="${publicPath(config, '/docs')}">API documentation</a></p>`;
}

/** A line that scrolls if it is long. The page's script adds a button that copies `what`. */
function copyBlock(label: string, what: string, line: string): Html {
  return html`<figure class="code"><figcaption>${label}</figcaption><pre tabindex="0"><code data-copy="${what}">${line}</code></pre></figure>`;
}

function folds(context: PageContext, key: KeyView, history: readonly HistoryView[], isGranted: boolean): Html {
  // The first fact, the name, is the heading of the page.
  const [, ...asked] = requestFacts(key, ownKeyPath(context));
  const open = key.state === 'pending' ? raw(' open') : '';
  return html`${isGranted ? html`<details><summary>What was granted</summary>${factList(grantFacts(key))}</details>` : ''}
<details${open}><summary>Your request</summary>${factList(asked)}</details>
<details><summary>History (${numberText(history.length)})</summary>${historyTable(history)}</details>`;
}
