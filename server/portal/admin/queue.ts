import { DAY_MS } from '../../../shared/clock.ts';
import { KEY_STATES, type KeyState } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import { isKeyState } from '../../../shared/keys/key.ts';
import { readPlace } from '../../../shared/keys/list-cursor.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import type { ListOutput } from '../../../shared/usage/key-list.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performHere } from '../../thread/perform.ts';
import { errorSummary, NO_FAULTS, textField } from '../html/fields.ts';
import { keyTable } from '../html/key-table.ts';
import type { Page, Visit } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';
import { decidedNote } from './last-decision.ts';

/** So many keys stand on one page. */
const PAGE_SIZE = 50;

/** Which keys are shown: `all` for those in every state; `after` is the place in the list where the page before ends. */
type Wanted = { state: KeyState | 'all'; profile: string; after: string };

/** `GET /developers/admin`: the requests that wait, oldest first; or all keys of a state, of a profile, or both. */
export async function queue(visit: Visit): Promise<Page> {
  const wanted = readWanted(visit);
  const { state, profile, after } = wanted;
  try {
    const found = await performHere(visit, OPERATIONS.list, {
      states: state === 'all' ? undefined : [state],
      profile: profile === '' ? undefined : profile,
      limit: PAGE_SIZE,
      after: after || undefined,
    });
    return await show(visit, wanted, found, null);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    const nothing: ListOutput = { keys: [], lastUses: new Map(), next: null };
    return { ...(await show(visit, wanted, nothing, error.message)), refusal: 'not_found' };
  }
}

function readWanted({ query }: Visit): Wanted {
  const state = query.get('state') || 'pending';
  const after = query.get('after') ?? '';
  if (state !== 'all' && !isKeyState(state)) throw new AppError('bad_parameter', 'There is no such state of keys.');
  if (after !== '' && readPlace(after) === null) {
    throw new AppError('bad_parameter', 'after must be taken from a link.');
  }
  return { state, profile: (query.get('profile') ?? '').trim(), after };
}

async function show(visit: Visit, wanted: Wanted, found: ListOutput, fault: string | null): Promise<Page> {
  const { state, profile, after } = wanted;
  const { keys, lastUses, next } = found;
  const isQueue = state === 'pending' && profile === '';
  const title = isQueue ? 'Requests' : 'Keys';
  const faults = fault === null ? NO_FAULTS : new Map([['profile', fault]]);
  const nowMs = visit.access.clock.nowMs();
  const table = keyTable({
    keys,
    lastUses,
    caption: isQueue ? 'The oldest first' : 'Pending ones first, then the oldest first',
    linkTo: adminKeyPath(visit),
    withProfiles: true,
    nowMs,
  });
  const decided = await decidedNote(visit);
  const waiting = isQueue ? html`<p>${await waitingInWords(visit, after === '' ? keys[0] : undefined)}</p>` : '';
  return {
    title,
    scripts: decided.scripts,
    body: html`${errorSummary(faults)}<h1>${title}</h1>
${decided.body}${waiting}
${keys.length > 0 ? table : ''}${keys.length === 0 && !isQueue && fault === null ? html`<p>There are none.</p>` : ''}
${pageLinks(visit, wanted, next)}
<h2>Find keys</h2>
${filterForm(visit, wanted, faults)}`,
  };
}

/** How many requests wait, and for how long the oldest does where it is known. */
async function waitingInWords(visit: Visit, oldest: KeyView | undefined): Promise<string> {
  const count = await performHere(visit, OPERATIONS.countPending, {});
  if (count === 0) return 'No request waits.';
  const waiting = count === 1 ? 'One request waits' : `${count} requests wait`;
  if (oldest === undefined) return `${waiting}.`;
  const days = Math.floor((visit.access.clock.nowMs() - Date.parse(oldest.requestedAt)) / DAY_MS);
  if (days < 1) return `${waiting}, all since less than a day.`;
  return `${waiting}, the oldest for ${days} ${days === 1 ? 'day' : 'days'}.`;
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

function pageLinks({ access: { config } }: Visit, { state, profile, after }: Wanted, next: string | null): Html {
  const link = (parameters: Record<string, string>, text: string) => {
    const query = new URLSearchParams({ state, profile, ...parameters });
    return html`<li><a href="${publicPath(config, '/developers/admin')}?${query.toString()}">${text}</a></li>`;
  };
  if (after === '' && next === null) return html``;
  const first = after === '' ? '' : link({}, 'First page');
  const later = next === null ? '' : link({ after: next }, 'Next page');
  return html`<nav aria-label="Pages of the list"><ul class="nav">${first}${later}</ul></nav>`;
}
