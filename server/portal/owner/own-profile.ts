import type { Person } from '../../../shared/actor.ts';
import { KEYS_PER_PROFILE, SLOT_HOLDERS } from '../../../shared/keys/key.ts';
import { type Owner, readOwnerById } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { userText } from '../html/user-text.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The profile of the signed-in owner. Throws `not_found` if it has just been erased. */
export function ownProfile({ access, person }: PageContext): Owner {
  return readOwnerById(access.db, (person as Extract<Person, { kind: 'owner' }>).profileId);
}

/** The note about a ban: what it means for the keys, and what the owner can still do. Empty if there is none. */
export function bannedNote({ username, banned }: Owner): Html {
  if (!banned) return html``;
  return html`<p class="note">The profile <bdi>${username}</bdi> is banned. Its keys are refused while the ban lasts, and work again when it is lifted. Until then you can look at keys, withdraw requests and revoke keys, but not request or rename any.</p>`;
}

/** Returns a function that makes the path of a key's page for its owner, which includes that of PUBLIC_URL. */
export function ownKeyPath({ access: { config } }: Pick<PageContext, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `/developers/keys/${identifier}`);
}

/** The breadcrumbs of a page: the list of keys and, for a page about one key, that key. */
export function crumbs(context: PageContext, key?: Pick<KeyView, 'identifier' | 'name'>): Html {
  const keys = html`<a href="${publicPath(context.access.config, '/developers/keys')}">API keys</a>`;
  const one =
    key === undefined ? '' : html` / <a href="${ownKeyPath(context)(key.identifier)}">${userText(key.name)}</a>`;
  return html`<nav class="crumbs" aria-label="Breadcrumb"><span>${keys}${one}</span></nav>`;
}

/** Those of a profile's keys that take a slot. */
export function keysInUse(keys: readonly KeyView[]): KeyView[] {
  return keys.filter(({ state }) => SLOT_HOLDERS.some((holder) => holder === state));
}

/** How many slots are taken: `1 of 3 keys used`. */
export function usedText(inUse: readonly KeyView[]): string {
  return `${inUse.length} of ${KEYS_PER_PROFILE} keys used`;
}

/** Whether all slots are taken, so that no key can be requested. */
export function isFull(inUse: readonly KeyView[]): boolean {
  return inUse.length >= KEYS_PER_PROFILE;
}

/** The keys that take the slots, with links to their pages, where they can be ended; `here` is the key of this page. */
export function holderList(context: PageContext, inUse: readonly KeyView[], here?: string): Html {
  const linkTo = ownKeyPath(context);
  const items = inUse.map(({ identifier, name, state }) =>
    identifier === here
      ? html`<li>${userText(name)} (${state}): this key</li>`
      : html`<li><a href="${linkTo(identifier)}">${userText(name)}</a> (${state}): ${state === 'pending' ? 'withdraw it' : 'revoke it'} on its page</li>`,
  );
  return html`<ul>${items}</ul>`;
}
