import { DAY_MS } from '../../../shared/clock.ts';
import { AppError } from '../../../shared/errors.ts';
import { isIdentifier } from '../../../shared/keys/list.ts';
import { readKey } from '../../../shared/keys/record.ts';
import {
  isLogKind,
  LOG_GROUPS,
  type LogEntry,
  type LogFilter,
  listLog,
  PAST_SYNTAX,
  parsePast,
} from '../../../shared/log.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { errorSummary, type Faults, textField } from '../html/fields.ts';
import { nameOf } from '../html/key-facts.ts';
import { columnTime, pageSentence, WHEN } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import { queryValue } from '../requests/form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

const PAGE_SIZE = 50;

const PATH = '/developers/admin/log';

const FILTERS = ['by', 'kind', 'key', 'from', 'to'] as const;

/** The filters as typed; empty if unused. */
type Wanted = Record<(typeof FILTERS)[number], string>;

/** `GET /developers/admin/log`: the audit log, newest first, filtered by person, kind, key and time. */
export function log(context: PageContext): Page {
  const { access } = context;
  const before = queryValue(context, 'before') || null;
  if (before !== null && !/^[1-9][0-9]{0,14}$/.test(before))
    throw new AppError('bad_parameter', 'before must be taken from a link.');
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, queryValue(context, name).trim()])) as Wanted;
  const faults = new Map<string, string>();
  const filter = readFilter(wanted, access.clock.nowMs(), faults);
  const found =
    faults.size > 0
      ? []
      : listLog(access.db, PAGE_SIZE + 1, { ...filter, before: before === null ? null : Number(before) });
  const entries = found.slice(0, PAGE_SIZE);
  const isFiltered = before !== null || FILTERS.some((name) => wanted[name] !== '');
  const none = isFiltered
    ? 'No entries match these filters.'
    : 'Nothing has been done yet. Decisions on requests will appear here.';
  return {
    title: 'Log',
    ...(faults.size > 0 && { refusal: 'bad_parameter' }),
    body: html`${errorSummary(faults)}<h1>Log</h1>
<p class="soft">Who did what. Entries can’t be changed or removed. The history of each key says whether its e-mails were delivered.</p>
${filterForm(context, wanted, faults)}
${entries.length > 0 ? logTable(context, entries) : faults.size > 0 ? '' : html`<p>${none}</p>`}
${pageLinks(context, wanted, before, found.length > PAGE_SIZE ? String(entries.at(-1)?.id) : null)}`,
  };
}

/** Reads the filters, and adds the errors of invalid ones to `faults`. */
function readFilter({ by, kind, key, from, to }: Wanted, nowMs: number, faults: Map<string, string>): LogFilter {
  const moment = (name: string, text: string) => {
    const atMs = parsePast(text, nowMs);
    if (atMs === null) faults.set(name, `“${name === 'from' ? 'From' : 'To'}” must be ${PAST_SYNTAX}.`);
    return atMs ?? nowMs;
  };
  if (kind !== '' && !isLogKind(kind)) faults.set('kind', 'There is no such kind of entry.');
  if (key !== '' && !isIdentifier(key)) faults.set('key', 'The identifier of a key has 8 letters and digits.');
  // A date includes the whole day.
  const untilMs = to === '' ? undefined : moment('to', to) + (/^\d{4}-\d\d-\d\d$/.test(to) ? DAY_MS : 0);
  return {
    ...(by !== '' && { by }),
    ...(isLogKind(kind) && { kinds: [kind] }),
    ...(key !== '' && { key }),
    ...(from !== '' && { sinceMs: moment('from', from) }),
    ...(untilMs !== undefined && { untilMs }),
  };
}

function logTable(context: PageContext, entries: readonly LogEntry[]): Html {
  const rows = entries.map(
    (entry) =>
      html`<tr><td data-label="When">${columnTime(entry.atMs)}</td><td data-label="Who">${userText(entry.by)}</td><td data-label="What">${whatOf(context, entry)}</td></tr>`,
  );
  return html`<table><thead><tr><th scope="col">${WHEN}</th><th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>${rows}</tbody></table>`;
}

/** The sentence of an entry, in which a key's name is a link, and below it the text that a person wrote. */
function whatOf(context: PageContext, { kind, identifier, text, written: theirs }: LogEntry): Html {
  const [before = '', ...after] = kind.startsWith('key-') && identifier !== null ? text.split(identifier) : [text];
  const linked =
    after.length === 0 || identifier === null
      ? html`<bdi>${pageSentence(text)}</bdi>`
      : html`${before}${namedKey(context, identifier)}${pageSentence(after.join(identifier))}`;
  return html`${linked}${theirs === '' ? '' : html`<br><span class="text soft">${userText(theirs)}</span>`}`;
}

/** The name of a key as a link, with its identifier in brackets; of an erased key only the identifier. */
function namedKey(context: PageContext, identifier: string): Html {
  const { name } = readKey(context.access.db, identifier);
  const link = html`<a href="${adminKeyPath(context)(identifier)}">${nameOf({ name, identifier })}</a>`;
  return name === '' ? link : html`${link} (<code>${identifier}</code>)`;
}

function filterForm({ access: { config } }: PageContext, wanted: Wanted, faults: Faults): Html {
  const option = (value: string, text: string) =>
    html`<option value="${value}"${raw(value === wanted.kind ? ' selected' : '')}>${text}</option>`;
  const groups = LOG_GROUPS.map(({ group, kinds }) =>
    kinds.length === 1
      ? option(group, group)
      : html`<optgroup label="${group}">${option(group, `all ${group}`)}${kinds.map((kind) => option(kind, kind.replaceAll('-', ' ')))}</optgroup>`,
  );
  const kindFault = faults.get('kind');
  const field = (name: keyof Wanted, label: string, hint: string, type: 'text' | 'date' = 'text') =>
    textField({ name, label, hint, type, value: wanted[name], size: 'short', faults });
  return html`<details${raw(FILTERS.some((name) => wanted[name] !== '') ? ' open' : '')}><summary>Filter</summary><form method="get" action="${publicPath(config, PATH)}" class="filters" novalidate>
${field('by', 'Who', 'Such as Grace, owner or operator.')}
<div class="${kindFault === undefined ? 'field' : 'field wrong'}"><label for="kind">What</label><select id="kind" name="kind" class="short">${option('', 'everything')}${groups}</select></div>
${field('key', 'Key', 'Its identifier.')}${field('from', 'From', 'A UTC date.', 'date')}${field('to', 'To', 'A UTC date, inclusive.', 'date')}
<p><button class="second">Show</button> <a class="cancel" href="${publicPath(config, PATH)}">Clear</a></p></form></details>`;
}

function pageLinks(
  { access: { config } }: PageContext,
  wanted: Wanted,
  before: string | null,
  next: string | null,
): Html {
  if (before === null && next === null) return html``;
  const link = (more: Record<string, string>, text: string) => {
    const filters = Object.entries({ ...wanted, ...more }).filter(([, value]) => value !== '');
    const query = new URLSearchParams(filters).toString();
    return html`<li><a href="${publicPath(config, PATH)}${query === '' ? '' : `?${query}`}">${text}</a></li>`;
  };
  return html`<nav aria-label="Pages of the log"><ul class="nav">${before === null ? '' : link({}, 'Newest')}${next === null ? '' : link({ before: next }, 'Older')}</ul></nav>`;
}
