import { hasSecret } from '../../../shared/keys/key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { Level } from '../../../shared/limits/limits.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { dailyUsage, type UsageView } from '../../../shared/usage/usage.ts';
import { type Html, html, userText } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { joined, levelList, stateTag } from '../html/key-facts.ts';
import { performFor } from '../requests/operation-form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import {
  bannedNote,
  isFull,
  keyMeta,
  keysInUse,
  ownKeyPath,
  ownProfile,
  REFUSED_DAYS,
  refusedInShort,
  usedText,
} from './own-profile.ts';

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
  const request = html`<a class="button filled" href="${publicPath(context.access.config, '/developers/keys/new')}">Request a key</a>`;
  const mayRequest = !owner.banned && !isFull(inUse);
  const used = `${usedText(inUse)}${isFull(inUse) ? ', requests included. Revoke or withdraw one to request another.' : ''}`;
  return {
    title: 'API keys',
    body: html`<div class="head"><div><h1>API keys</h1>${all.length > 0 ? html`<p class="soft">${used}</p>` : ''}</div>${mayRequest && all.length > 0 ? request : ''}</div>
${bannedNote(owner)}
${all.length > 0 ? '' : noKeys(context, mayRequest ? request : html``)}
${inUse.length === 0 ? '' : html`<ul class="list">${inUse.map(rowOf)}</ul>`}
${ended.length === 0 ? '' : html`<section aria-labelledby="ended"><h2 id="ended">Ended</h2><ul class="list">${ended.map(rowOf)}</ul></section>`}`,
  };
}

function noKeys({ access }: PageContext, request: Html): Html {
  return html`<div class="card"><p class="text">No keys yet. A key lets your program look up profiles. You describe the program in two minutes, an admin answers, and the secret comes by e-mail.</p>
<p class="buttons">${request}<a class="button bare" href="${publicPath(access.config, '/docs')}">Read the documentation</a></p></div>`;
}

/** When a key was last used, null if never, and its latest days. */
type Use = { lastUsedAtMs: number | null; days: UsageView['days'] };

/** A row of the list: the key's name, which links to its page, its state, and what is left of its limits. */
function keyRow(context: PageContext, key: KeyView, { lastUsedAtMs, days }: Use): Html {
  const levels = context.services.limits.levelsOf(key);
  const meta = [stateTag(key), ...keyMeta(context, key, lastUsedAtMs)];
  const beside = key.state === 'Active' && key.refusedFor === null ? whatIsLeft(context, days, levels) : '';
  return html`<li class="key"><div><h2><a href="${ownKeyPath(context)(key.identifier)}">${userText(key.name)}</a></h2><p>${joined(meta)}</p></div>${beside}</li>`;
}

function whatIsLeft({ access }: PageContext, days: UsageView['days'], levels: readonly Level[]): Html {
  const refused = refusedInShort(days, levels);
  return html`<div>${levelList(levels, access.clock.nowMs())}${refused === null ? '' : html`<p class="warn">${refused}</p>`}</div>`;
}
