import { hasSecret } from '../../../shared/keys/key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type Level, scarcest } from '../../../shared/limits/limits.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { countText } from '../../../shared/text.ts';
import { dailyUsage, type UsageView } from '../../../shared/usage/usage-view.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { joined, stateTag } from '../html/key-facts.ts';
import { levelText, limitText } from '../html/limit-levels.ts';
import { userText } from '../html/user-text.ts';
import { performFor } from '../requests/perform.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { keyMeta } from './key-meta.ts';
import { bannedNote, isFull, keysInUse, ownKeyPath, ownProfile, usedText } from './own-profile.ts';
import { REFUSED_DAYS, refusedInShort } from './refused-lately.ts';

/** `GET /developers/keys`: the keys of the owner's profile, and how many of its slots are taken. */
export async function keys(context: PageContext): Promise<Page> {
  const owner = ownProfile(context);
  const { keys: all, lastUses } = await performFor(context, OPERATIONS.list, {});
  const inUse = keysInUse(all);
  const ended = all.filter((key) => !inUse.includes(key)).toReversed();
  const working = inUse.filter(({ state }) => hasSecret(state));
  const identifiers = working.map(({ identifier }) => identifier);
  const latest = dailyUsage(context.access, identifiers, REFUSED_DAYS);
  const rowOf = (key: KeyView) => {
    const { identifier } = key;
    const use = { lastUsedAtMs: lastUses.get(identifier) ?? null, days: latest.get(identifier) ?? [] };
    return keyRow(context, key, use);
  };
  const request = html`<a class="button" href="${publicPath(context.access.config, '/developers/keys/new')}">Request a key</a>`;
  const mayRequest = !owner.banned && !isFull(inUse);
  return {
    title: 'API keys',
    body: html`<div class="headline"><h1>API keys</h1>${mayRequest && all.length > 0 ? request : ''}</div>
${bannedNote(owner)}
${all.length > 0 ? html`<p>${usedText(inUse)}${isFull(inUse) ? ', requests included. Revoke or withdraw one to request another.' : ''}</p>` : noKeys(context, mayRequest ? request : html``)}
${inUse.length === 0 ? '' : html`<ul class="keys">${inUse.map(rowOf)}</ul>`}
${ended.length === 0 ? '' : html`<details${raw(inUse.length === 0 ? ' open' : '')}><summary>${countText(ended.length, 'ended key')}</summary><ul class="keys">${ended.map(rowOf)}</ul></details>`}`,
  };
}

function noKeys({ access }: PageContext, request: Html): Html {
  return html`<p>No keys yet. A key lets your program look up profiles. You describe the program (2 minutes), an admin answers, and the secret comes by e-mail.</p>
<p>${request} <a class="cancel" href="${publicPath(access.config, '/docs')}">API documentation</a></p>`;
}

/** When a key was last used, null if never, and its latest days. */
type Use = { lastUsedAtMs: number | null; days: UsageView['days'] };

/** A row of the list: the key's name, which links to its page, its state, and the most important facts. */
function keyRow(context: PageContext, key: KeyView, { lastUsedAtMs, days }: Use): Html {
  const levels = context.services.limits.levelsOf(key);
  const left = hasSecret(key.state) ? whatIsLeft(key, days, levels) : [];
  return html`<li><a href="${ownKeyPath(context)(key.identifier)}">${userText(key.name)}</a> <span>${stateTag(key)}</span>
<p>${joined([...left, ...keyMeta(context, key, lastUsedAtMs), html`<code>${key.identifier}</code>`])}</p></li>`;
}

/**
 * What is left of the scarcest limit, after a note if requests exceed a limit or recently did; only the limits if the key is
 * suspended.
 */
function whatIsLeft(key: KeyView, days: UsageView['days'], levels: readonly Level[]): (Html | string)[] {
  const limits = key.rateLimits.map(limitText).join(', ');
  if (key.state !== 'Active') return [limits];
  const level = scarcest(levels);
  if (level?.remaining === 0) return [html`<span class="spent">${levelText(level)}, so requests get 429</span>`];
  const refused = refusedInShort(days, levels);
  return [...(refused === null ? [] : [refused]), level === undefined ? limits : levelText(level)];
}
