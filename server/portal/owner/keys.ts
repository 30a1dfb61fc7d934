import type { KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { joined, levelList, stateTag } from '../html/key-facts.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { bannedNote, isFull, keyMeta, ownKeyLink, ownKeys, ownProfile, usedText } from './own-profile.ts';

/** `GET /developers/keys`: the keys of the owner's profile, and how many of its places are taken. */
export async function keys(context: PageContext): Promise<Page> {
  const { to, service, nowMs } = context;
  const owner = ownProfile(context);
  const { keys: all, lastUses, inUse } = await ownKeys(context);
  const ended = all.filter((key) => !inUse.includes(key)).toReversed();
  const rowOf = (key: KeyView) => {
    const meta = [stateTag(key), ...keyMeta(context, key, lastUses.get(key.identifier) ?? null)];
    const isWorking = key.state === 'Active' && key.refusedFor === null;
    return html`<li class="key"><div><h2>${ownKeyLink(context, key)}</h2><p>${joined(meta)}</p></div>${isWorking ? html`<div>${levelList(service.limits.levelsOf(key), nowMs)}</div>` : ''}</li>`;
  };
  const mayRequest = !owner.banned && !isFull(inUse);
  const request = mayRequest
    ? html`<a class="button filled" href="${to('/developers/keys/new')}">Request a key</a>`
    : html``;
  const used = `${usedText(inUse)}${isFull(inUse) ? ', requests included. Revoke or withdraw one to request another.' : ''}`;
  return {
    title: 'API keys',
    body: html`<div class="head"><div><h1>API keys</h1>${all.length > 0 ? html`<p class="soft">${used}</p>` : ''}</div>${all.length > 0 ? request : ''}</div>
${bannedNote(owner)}
${all.length > 0 ? '' : noKeys(context, request)}
${inUse.length === 0 ? '' : html`<ul class="list">${inUse.map(rowOf)}</ul>`}
${ended.length === 0 ? '' : html`<section aria-labelledby="ended"><h2 id="ended">Ended</h2><ul class="list">${ended.map(rowOf)}</ul></section>`}`,
  };
}

function noKeys({ to }: PageContext, request: Html): Html {
  return html`<div class="card"><p class="text">No keys yet. A key lets your program look up profiles. You describe the program in two minutes, an admin answers, and the secret comes by e-mail.</p>
<p class="buttons">${request}<a class="button bare" href="${to('/docs')}">Read the documentation</a></p></div>`;
}
