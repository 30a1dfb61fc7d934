import type { Person } from '../../../shared/actor.ts';
import { KEYS_PER_PROFILE, SLOT_HOLDERS } from '../../../shared/keys/key.ts';
import { type Owner, readOwnerById } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { userText } from '../html/user-text.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The profile of the owner who is signed in. Throws `not_found` where it has just been erased. */
export function ownProfile({ access, person }: PageContext): Owner {
  return readOwnerById(access.db, (person as Extract<Person, { kind: 'owner' }>).profileId);
}

/** Says of a banned profile what becomes of its keys and what its owner may still do; nothing of any other. */
export function bannedNote({ username, banned }: Owner): Html {
  if (!banned) return html``;
  return html`<p class="note">The profile <bdi>${username}</bdi> is banned. Its keys are refused while the ban lasts, and work again when it is lifted. Until then you can look at keys, withdraw requests and revoke keys, but not request or rename any.</p>`;
}

/** The addresses of the owner's pages about keys, as a browser needs them. */
export function ownKeyPath({ access: { config } }: Pick<PageContext, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `/developers/keys/${identifier}`);
}

/** The way back from a page about one key: to all of them, or to the key itself. */
export function crumbs(context: PageContext, key?: Pick<KeyView, 'identifier' | 'name'>): Html {
  const keys = html`<a href="${publicPath(context.access.config, '/developers/keys')}">API keys</a> /`;
  const one =
    key === undefined ? '' : html` <a href="${ownKeyPath(context)(key.identifier)}">${userText(key.name)}</a> /`;
  return html`<nav class="crumbs" aria-label="Breadcrumb">${keys}${one}</nav>`;
}

/** Those of a profile's keys that count towards the three that it can have. */
export function keysInUse(keys: readonly KeyView[]): KeyView[] {
  return keys.filter(({ state }) => SLOT_HOLDERS.some((holder) => holder === state));
}

/** How many of the three keys of a profile are used: `1 of 3 keys used`. */
export function usedText(inUse: readonly KeyView[]): string {
  return `${inUse.length} of ${KEYS_PER_PROFILE} keys used`;
}

/** Whether a profile has all the keys that it can have, so that none can be requested. */
export function isFull(inUse: readonly KeyView[]): boolean {
  return inUse.length >= KEYS_PER_PROFILE;
}

/** The keys that leave no place for another one, each with the link to its page, where it can be ended; `here` is of this page. */
export function holderList(context: PageContext, inUse: readonly KeyView[], here?: string): Html {
  const linkTo = ownKeyPath(context);
  const items = inUse.map(({ identifier, name, state }) =>
    identifier === here
      ? html`<li>${userText(name)} (${state}): this key</li>`
      : html`<li><a href="${linkTo(identifier)}">${userText(name)}</a> (${state}): ${state === 'pending' ? 'withdraw it' : 'revoke it'} on its page</li>`,
  );
  return html`<ul>${items}</ul>`;
}
