import { hasSecret } from '../../../shared/keys/key.ts';
import type { ListOutput } from '../../../shared/usage/key-list.ts';
import { type Html, html } from '../../html.ts';
import { joined, nameOf, stateTag } from './key-facts.ts';
import { limitText } from './limit-levels.ts';
import { relativeTime } from './time.ts';
import { userText } from './user-text.ts';

/** `linkTo` returns the URL of a key's page; `withProfiles` adds each key's profile. */
type KeyList = Pick<ListOutput, 'keys' | 'lastUses'> & {
  linkTo: (identifier: string) => string;
  withProfiles?: boolean;
  nowMs: number;
};

/** A list of keys: name, state, whose it is, and its use. */
export function keyList({ keys, lastUses, linkTo, withProfiles = false, nowMs }: KeyList): Html {
  const rows = keys.map((key) => {
    const { identifier, profile, state, requestedAt, rateLimits } = key;
    const usedAtMs = lastUses.get(identifier);
    const used = usedAtMs === undefined ? 'never used' : html`last used ${relativeTime(usedAtMs, nowMs)}`;
    const about = [
      stateTag(key),
      ...(withProfiles ? [profile === null ? 'erased' : userText(profile)] : []),
      html`requested ${relativeTime(Date.parse(requestedAt), nowMs)}`,
    ];
    const use = [
      ...(hasSecret(state) || usedAtMs !== undefined ? [used] : []),
      ...rateLimits.map((limit) => limitText(limit)),
    ];
    return html`<li class="key"><div><h3><a href="${linkTo(identifier)}">${nameOf(key)}</a></h3><p>${joined(about)}</p></div><p>${joined([...use, html`<code>${identifier}</code>`])}</p></li>`;
  });
  return html`<ul class="list">${rows}</ul>`;
}
