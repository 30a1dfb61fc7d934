import { KEY_STATES } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import { USUAL_PAGE_LENGTH } from '../../../shared/keys/fields.ts';
import { isKeyState } from '../../../shared/keys/key.ts';
import { readCursor } from '../../../shared/keys/list.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { keyList } from '../html/key-facts.ts';
import { queryValue } from '../requests/form.ts';
import { performFor } from '../requests/operation-form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { ADMIN_KEYS_PATH, adminKeyPath } from './parts.ts';

/** `GET /developers/admin/keys`: the list of keys, filtered by a search text, by state, or both. */
export async function adminKeys(context: PageContext): Promise<Page> {
  const { access } = context;
  const find = queryValue(context, 'find').trim();
  const state = queryValue(context, 'state') || 'all';
  if (state !== 'all' && !isKeyState(state)) throw new AppError('bad_parameter', 'There is no such key state.');
  const after = readAfter(queryValue(context, 'after'));
  const { keys, lastUses, next } = await performFor(context, OPERATIONS.list, {
    states: state === 'all' ? null : [state],
    find: find === '' ? null : find,
    limit: USUAL_PAGE_LENGTH,
    after: after || null,
  });
  const title = find === '' ? 'Keys' : `Found: ${find}`;
  const linkTo = adminKeyPath(context);
  const nowMs = access.clock.nowMs();
  return {
    title,
    body: html`<div class="head"><h1>Keys</h1>${searchForm(context, find)}</div>
${stateLinks(context, state, find)}
${keys.length > 0 ? html`<h2 class="unseen">Pending requests first, then other keys, oldest first</h2>${keyList({ keys, lastUses, linkTo, withProfiles: true, nowMs })}` : nothing(find, state)}
${pageLinks(publicPath(access.config, ADMIN_KEYS_PATH), { state, ...(find !== '' && { find }) }, after, next)}`,
  };
}

function nothing(find: string, state: string): Html {
  const which = state === 'all' ? '' : `${state} `;
  const next = state === 'all' || state === 'pending' ? ' Requests appear here as soon as owners send them.' : '';
  return find === ''
    ? html`<p>No ${which}keys.${next}</p>`
    : html`<p>No ${which}key matches “<bdi>${find}</bdi>”. Type a part of an identifier, of a key’s name, or of a username, alias or display name, or a whole e-mail address.</p>`;
}

/** The cursor of a page, at which the previous one ends; empty on the first. Throws `bad_parameter` for any other string. */
export function readAfter(after: string): string {
  if (after !== '' && readCursor(after) === null)
    throw new AppError('bad_parameter', 'after must be taken from a link.');
  return after;
}

/** The search field for the head of a list; `find` is the search text. */
export function searchForm({ access: { config } }: PageContext, find: string): Html {
  return html`<form class="find" role="search" method="get" action="${publicPath(config, ADMIN_KEYS_PATH)}" novalidate><input name="find" type="search" value="${find}" aria-label="Find a key, profile or address" placeholder="Find a key, profile or address" autocomplete="off" autocapitalize="none" spellcheck="false"></form>`;
}

function stateLinks({ access: { config } }: PageContext, state: string, find = ''): Html {
  const items = ['all', ...KEY_STATES].map((one) => {
    const query = new URLSearchParams({ state: one, ...(find !== '' && { find }) });
    const isHere = one === state;
    return html`<li><a href="${publicPath(config, ADMIN_KEYS_PATH)}?${query.toString()}"${raw(isHere ? ' aria-current="true"' : '')}>${one === 'all' ? 'all keys' : one}</a></li>`;
  });
  return html`<nav aria-label="Keys by state"><ul class="nav">${items}</ul></nav>`;
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
