import type { Deps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { readCursor } from '../../../shared/keys/inputs.ts';
import type { Owner } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { publicProfile } from '../../../shared/profiles/find.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html, userText } from '../../html.ts';
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

/** Returns a function that makes the URL of a key's page for admins. */
export function adminKeyPath({ to }: PageContext): (identifier: string) => string {
  return (identifier) => to(`${ADMIN_KEYS_PATH}/${identifier}`);
}

/** Who is behind a request: what anybody can look up about the profile, on one line; empty for an erased one. */
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

/** The card of the owner on a key's page: display name, username, UID and {@link profileFacts}. */
export function profileCard({ db }: Pick<Deps, 'db'>, { id, username }: Pick<Owner, 'id' | 'username'>): Html {
  const name = publicProfile(db, id)?.displayName ?? username;
  return html`<div class="profile"><span class="face large" aria-hidden="true">${firstLetter(name)}</span><h2 id="profile">${userText(name)} <small>${userText(username)} · UID ${id}</small></h2><p class="soft">${profileFacts({ db }, id)}</p></div>`;
}

/** The first character of a name, for its round picture. */
export function firstLetter(name: string): string {
  return new Intl.Segmenter().segment(name)[Symbol.iterator]().next().value?.segment ?? '';
}

/** The cursor of a page, at which the previous one ends; empty on the first. Throws `bad_parameter` for any other string. */
export function readAfter(after: string): string {
  if (after !== '' && readCursor(after) === null)
    throw new AppError('bad_parameter', 'after must be taken from a link.');
  return after;
}

/** The search field for the head of a list; `find` is the search text. */
export function searchForm({ to }: PageContext, find: string): Html {
  return html`<form class="find" role="search" method="get" action="${to(ADMIN_KEYS_PATH)}" novalidate><input name="find" type="search" value="${find}" aria-label="Find a key, profile or address" placeholder="Find a key, profile or address" autocomplete="off" autocapitalize="none" spellcheck="false"></form>`;
}

/** Links to the first and the next page of the list at a path; nothing if it has only one. */
export function pageLinks(
  path: string,
  filters: Readonly<Record<string, string>>,
  after: string,
  next: string | null,
): Html {
  const link = (parameters: Record<string, string>, text: string) => {
    const query = new URLSearchParams({ ...filters, ...parameters }).toString();
    return html`<a class="button" href="${path}${query === '' ? '' : `?${query}`}">${text}</a>`;
  };
  if (after === '' && next === null) return html``;
  const first = after === '' ? '' : link({}, 'First page');
  const later = next === null ? '' : link({ after: next }, 'Next page');
  return html`<nav class="buttons" aria-label="Pages of the list">${first}${later}</nav>`;
}
