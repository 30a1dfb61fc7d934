import type { Deps } from '../../../shared/deps.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { publicProfile } from '../../../shared/profiles/find.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html, userText } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { joined } from '../html/key-facts.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The path of the queue of waiting requests. */
export const QUEUE_PATH = '/developers/admin';

/** The path of the list of keys, and of the search. */
export const ADMIN_KEYS_PATH = '/developers/admin/keys';

/** The section to which a key's page for admins belongs. */
export function sectionOf({ state }: Pick<KeyView, 'state'>): string {
  return state === 'pending' ? 'Requests' : 'Keys';
}

/** Returns a function that makes the path of a key's page for admins, which includes that of PUBLIC_URL. */
export function adminKeyPath({ access: { config } }: Pick<PageContext, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `${ADMIN_KEYS_PATH}/${encodeURIComponent(identifier)}`);
}

/** Who is behind a request: what everybody can look up of the profile, in a line; empty for an erased one. */
export function profileFacts({ db }: Pick<Deps, 'db'>, profileId: number | null): Html {
  const found = profileId === null ? null : publicProfile(db, profileId);
  if (found === null) return html``;
  const { createdAt, viewsCount, followersCount, badges, links } = found;
  const shown = badges.filter(({ enabled }) => enabled).map(({ name }) => name);
  return joined([
    html`since <time datetime="${createdAt}" title="${createdAt.slice(0, 10)}">${createdAt.slice(0, 7)}</time>`,
    countText(viewsCount, 'view'),
    ...(followersCount === null ? [] : [countText(followersCount, 'follower')]),
    ...(links === 0 ? [] : [countText(links, 'link')]),
    ...(shown.length === 0
      ? []
      : [html`badges ${shown.map((name, at) => html`${at === 0 ? '' : ', '}${userText(name)}`)}`]),
  ]);
}

/** The card of that person on the page of a key: display name, username, UID and the facts. */
export function profileCard({ db }: Pick<Deps, 'db'>, profileId: number, username: string): Html {
  const name = publicProfile(db, profileId)?.displayName ?? username;
  return html`<div class="profile"><span class="face large" aria-hidden="true">${firstLetter(name)}</span><h2 id="profile">${userText(name)} <small>${userText(username)} · UID ${numberText(profileId).replace(/\u202f/g, '')}</small></h2><p class="soft">${profileFacts({ db }, profileId)}</p></div>`;
}

/** The first character of a name, for its round picture. */
export function firstLetter(name: string): string {
  return new Intl.Segmenter().segment(name)[Symbol.iterator]().next().value?.segment ?? '';
}
