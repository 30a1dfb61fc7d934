import { DAY_MS } from '../../../../shared/clock.ts';
import { KEY_STATES, type KeyState } from '../../../../shared/db/key-columns.ts';
import { AppError } from '../../../../shared/errors.ts';
import { isKeyState } from '../../../../shared/keys/key.ts';
import { type ListOutput, OPERATIONS } from '../../../../shared/operations.ts';
import { type Html, html, raw } from '../../../html.ts';
import { publicPath } from '../../../request/public-path.ts';
import { adminKeyPath } from '../../admin-path.ts';
import { errorSummary, NO_FAULTS, textField } from '../../html/fields.ts';
import { keyTable } from '../../html/key-table.ts';
import { performHere } from '../../perform.ts';
import type { Page, Visit } from '../../visit.ts';

/** So many keys stand on one page. */
const PAGE_SIZE = 50;

/** Which keys are shown: `all` for those in every state. */
type Wanted = { state: KeyState | 'all'; profile: string; page: number };

/** `GET /developers/admin`: the requests that wait, oldest first; or all keys of a state, of a profile, or both. */
export async function queue(visit: Visit): Promise<Page> {
  const wanted = readWanted(visit);
  const { state, profile } = wanted;
  try {
    const states = state === 'all' ? undefined : [state];
    const found = await performHere(visit, OPERATIONS.list, { states, profile: profile === '' ? undefined : profile });
    return show(visit, wanted, found, null);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    const nothing: ListOutput = { keys: [], lastUses: new Map() };
    return { ...show(visit, wanted, nothing, error.message), refusal: 'not_found' };
  }
}

function readWanted({ query }: Visit): Wanted {
  const state = query.get('state') || 'pending';
  const page = query.get('page') || '1';
  if (state !== 'all' && !isKeyState(state)) throw new AppError('bad_parameter', 'There is no such state of keys.');
  if (!/^[1-9]\d{0,5}$/.test(page)) throw new AppError('bad_parameter', 'page must be a whole number from 1.');
  return { state, profile: (query.get('profile') ?? '').trim(), page: Number(page) };
}

function show(visit: Visit, wanted: Wanted, { keys, lastUses }: ListOutput, fault: string | null): Page {
  const { access } = visit;
  const { state, profile, page } = wanted;
  const isQueue = state === 'pending' && profile === '';
  const title = isQueue ? 'Requests' : 'Keys';
  const faults = fault === null ? NO_FAULTS : new Map([['profile', fault]]);
  const from = (page - 1) * PAGE_SIZE;
  const shown = keys.slice(from, from + PAGE_SIZE);
  const nowMs = access.clock.nowMs();
  const table = keyTable({
    keys: shown,
    lastUses,
    caption: `${from + 1} to ${from + shown.length} of ${keys.length}, ${isQueue ? 'the oldest first' : 'pending ones first, then the oldest first'}`,
    linkTo: adminKeyPath(visit),
    withProfiles: true,
    ageAtMs: nowMs,
  });
  const waiting = keys.length === 0 ? 'No request waits.' : `${waitingInWords(keys.length)}${oldest(keys, nowMs)}`;
  return {
    title,
    body: html`${errorSummary(faults)}<h1>${title}</h1>
${isQueue ? html`<p>${waiting}</p>` : ''}
${shown.length > 0 ? table : ''}${shown.length === 0 && !isQueue && fault === null ? html`<p>There are none.</p>` : ''}
${pageLinks(visit, wanted, keys.length)}
<h2>Find keys</h2>
${filterForm(visit, wanted, faults)}`,
  };
}

function waitingInWords(count: number): string {
  return count === 1 ? 'One request waits' : `${count} requests wait`;
}

function oldest([first]: ListOutput['keys'], nowMs: number): string {
  if (first === undefined) return '.';
  const days = Math.floor((nowMs - Date.parse(first.requestedAt)) / DAY_MS);
  return days < 1 ? ', all since less than a day.' : `, the oldest for ${days} ${days === 1 ? 'day' : 'days'}.`;
}

function filterForm({ access: { config } }: Visit, { state, profile }: Wanted, faults: typeof NO_FAULTS): Html {
  const option = (value: string, text: string) =>
    html`<option value="${value}"${raw(value === state ? ' selected' : '')}>${text}</option>`;
  const profileField = textField({
    name: 'profile',
    label: 'Profile',
    hint: 'A username or an alias; empty for all.',
    value: profile,
    size: 'short',
    faults,
  });
  return html`<form method="get" action="${publicPath(config, '/developers/admin')}" novalidate>
<div class="field"><label for="state">State</label><select id="state" name="state" class="short">${KEY_STATES.map((one) => option(one, one))}${option('all', 'all')}</select></div>
${profileField}<p><button class="second">Find</button></p></form>`;
}

function pageLinks({ access: { config } }: Visit, { state, profile, page }: Wanted, count: number): Html {
  const link = (to: number, text: string) => {
    const query = new URLSearchParams({ state, profile, page: String(to) });
    return html`<li><a href="${publicPath(config, '/developers/admin')}?${query.toString()}">${text}</a></li>`;
  };
  const pages = Math.ceil(count / PAGE_SIZE);
  if (pages <= 1 && page === 1) return html``;
  const earlier = page > 1 ? link(Math.min(page - 1, Math.max(pages, 1)), 'Page before') : '';
  const later = page < pages ? link(page + 1, 'Next page') : '';
  return html`<nav aria-label="Pages of the list"><ul class="nav">${earlier}${later}</ul></nav>`;
}
