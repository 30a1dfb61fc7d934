import { hasSecret } from '../../../shared/keys/key.ts';
import { formatRateLimit } from '../../../shared/limits/rate-limit.ts';
import type { ListOutput } from '../../../shared/usage/key-list.ts';
import { type Html, html } from '../../html.ts';
import { joined, nameOf, stateTag } from './key-facts.ts';
import { relativeTime } from './time.ts';
import { userText } from './user-text.ts';

/** The content of a table of keys. `linkTo` returns the URL of a key's page; `withProfiles` adds each key's profile below its name. */
export type KeyTable = Pick<ListOutput, 'keys' | 'lastUses'> & {
  caption: string;
  linkTo: (identifier: string) => string;
  withProfiles?: boolean;
  nowMs: number;
};

/** The text of an empty cell, which narrow windows leave out. */
const NONE = '–';

/** A table of keys, which narrow windows show as a list of cards. */
export function keyTable({ keys, lastUses, caption, linkTo, withProfiles = false, nowMs }: KeyTable): Html {
  const heads = ['Key', 'State', 'Requested', 'Rate limits', 'Last used'];
  const rows = keys.map((key) => {
    const { identifier, name, profile, state, requestedAt, rateLimits } = key;
    const usedAtMs = lastUses.get(identifier);
    const never = hasSecret(state) ? 'never' : NONE;
    const cells = [
      stateTag(key),
      relativeTime(Date.parse(requestedAt), nowMs),
      rateLimits.map(formatRateLimit).join(', ') || NONE,
      usedAtMs === undefined ? never : relativeTime(usedAtMs, nowMs),
    ];
    const below = [
      ...(withProfiles ? [profile === null ? 'erased' : userText(profile)] : []),
      ...(name === '' ? [] : [html`<code>${identifier}</code>`]),
    ];
    return html`<tr><th scope="row"><a href="${linkTo(identifier)}">${nameOf(key)}</a><br><span class="meta">${joined(below)}</span></th>${cells.map((cell, at) => html`<td${cell === NONE ? html` class="none"` : ''} data-label="${heads[at + 1] as string}">${cell}</td>`)}</tr>`;
  });
  return html`<table><caption>${caption}</caption><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`;
}
