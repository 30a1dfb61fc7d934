import { KEY_STATES } from '../../../shared/db/schema.ts';
import { AppError } from '../../../shared/errors.ts';
import { USUAL_PAGE_LENGTH } from '../../../shared/keys/fields.ts';
import { isKeyState } from '../../../shared/keys/key.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html, raw } from '../../html.ts';
import { keyList } from '../html/key-facts.ts';
import { queryValue } from '../requests/form.ts';
import { performFor } from '../requests/operation-form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { ADMIN_KEYS_PATH, adminKeyPath, pageLinks, readAfter, searchForm } from './parts.ts';

/** `GET /developers/admin/keys`: the list of keys, filtered by a search text, by state, or both. */
export async function adminKeys(context: PageContext): Promise<Page> {
  const { nowMs, to } = context;
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
  return {
    title,
    body: html`<div class="head"><h1>Keys</h1>${searchForm(context, find)}</div>
${stateLinks(context, state, find)}
${keys.length > 0 ? html`<h2 class="unseen">Pending requests first, then other keys, oldest first</h2>${keyList({ keys, lastUses, linkTo: adminKeyPath(context), withProfiles: true, nowMs })}` : nothing(find, state)}
${pageLinks(to(ADMIN_KEYS_PATH), { state, ...(find !== '' && { find }) }, after, next)}`,
  };
}

function nothing(find: string, state: string): Html {
  const which = state === 'all' ? '' : `${state} `;
  const next = state === 'all' || state === 'pending' ? ' Requests appear here as soon as owners send them.' : '';
  return find === ''
    ? html`<p>No ${which}keys.${next}</p>`
    : html`<p>No ${which}key matches “<bdi>${find}</bdi>”. Type part of an identifier, key name, username, alias or display name, or a whole e-mail address.</p>`;
}

function stateLinks({ to }: PageContext, state: string, find: string): Html {
  const items = ['all', ...KEY_STATES].map((one) => {
    const query = new URLSearchParams({ state: one, ...(find !== '' && { find }) });
    const isHere = one === state;
    return html`<li><a href="${to(ADMIN_KEYS_PATH)}?${query.toString()}"${raw(isHere ? ' aria-current="true"' : '')}>${one === 'all' ? 'all keys' : one}</a></li>`;
  });
  return html`<nav aria-label="Keys by state"><ul class="nav">${items}</ul></nav>`;
}
