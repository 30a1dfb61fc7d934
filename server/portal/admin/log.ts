import { DAY_MS } from '../../../shared/clock.ts';
import { AppError } from '../../../shared/errors.ts';
import { parseTime } from '../../../shared/keys/inputs.ts';
import { readKey, readOwnerById } from '../../../shared/keys/record.ts';
import { isIdentifier } from '../../../shared/keys/secret.ts';
import {
  isLogCursor,
  isLogKind,
  LOG_GROUPS,
  type LogEntry,
  type LogFilter,
  PAST_SYNTAX,
  readLog,
} from '../../../shared/log.ts';
import { type Html, html, raw, userText } from '../../html.ts';
import { errorSummary, type Faults } from '../html/fields.ts';
import { nameOf } from '../html/key-facts.ts';
import { clockTime, pageSentence, relativeTime } from '../html/time.ts';
import { queryValue } from '../requests/form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { adminKeyPath, firstLetter } from './parts.ts';

const PAGE_SIZE = 50;

const PATH = '/developers/admin/log';

const FILTERS = ['by', 'kind', 'key', 'when', 'from', 'to'] as const;

/** The filters as typed; empty if unused. */
type Wanted = Record<(typeof FILTERS)[number], string>;

/** The presets of the time filter: whole UTC days, counted back from today. */
const PRESETS: Readonly<Record<string, { text: string; firstDay: number; lastDay: number }>> = {
  today: { text: 'Today', firstDay: 0, lastDay: 0 },
  yesterday: { text: 'Yesterday', firstDay: 1, lastDay: 1 },
  '7d': { text: 'Last 7 days', firstDay: 6, lastDay: 0 },
  '30d': { text: 'Last 30 days', firstDay: 29, lastDay: 0 },
};

/** `GET /developers/admin/log`: the audit log, newest first, filtered by person, kind, key and time. */
export function log(context: PageContext): Page {
  const { deps, nowMs } = context;
  const before = queryValue(context, 'before') || null;
  if (before !== null && !isLogCursor(before)) throw new AppError('bad_parameter', 'before must be taken from a link.');
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, queryValue(context, name).trim()])) as Wanted;
  const faults = new Map<string, string>();
  const filter = readFilter(wanted, nowMs, faults);
  const { entries, next } =
    faults.size > 0
      ? { entries: [], next: null }
      : readLog(deps.db, PAGE_SIZE, { ...filter, after: before ?? undefined });
  const isFiltered = before !== null || FILTERS.some((name) => wanted[name] !== '');
  const none = isFiltered
    ? 'No entries match these filters.'
    : 'Nothing has been done yet. Decisions on requests will appear here.';
  return {
    title: 'Log',
    ...(faults.size > 0 && { refusal: 'bad_parameter' }),
    body: html`${errorSummary(faults)}<div><h1>Log</h1><p class="soft">Who did what. Nothing here can be changed or removed.</p></div>
${filterForm(context, wanted, faults)}
${entries.length > 0 ? logDays(context, entries) : faults.size > 0 ? '' : html`<p>${none}</p>`}
${pageLinks(context, wanted, before, next)}`,
  };
}

/** Reads the filters, and adds the errors of invalid ones to `faults`. */
function readFilter({ by, kind, key, when, from, to }: Wanted, nowMs: number, faults: Map<string, string>): LogFilter {
  const moment = (name: string, text: string) => {
    const atMs = parseTime(text, nowMs, -1);
    if (atMs === null) faults.set(name, `“${name === 'from' ? 'From' : 'To'}” must be ${PAST_SYNTAX}.`);
    return atMs ?? nowMs;
  };
  if (kind !== '' && !isLogKind(kind)) faults.set('kind', 'There is no such kind of entry.');
  if (key !== '' && !isIdentifier(key)) faults.set('key', 'The identifier of a key has 8 letters and digits.');
  const preset = Object.hasOwn(PRESETS, when) ? PRESETS[when] : undefined;
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const areDays = when === 'dates' || when === '';
  if (preset === undefined && !areDays) faults.set('when', 'There is no such span of time.');
  const sinceMs = preset ? today - preset.firstDay * DAY_MS : from !== '' && areDays ? moment('from', from) : undefined;
  // A date includes the whole day.
  const wholeDay = /^\d{4}-\d\d-\d\d$/.test(to) ? DAY_MS : 0;
  const untilMs = preset
    ? today + (1 - preset.lastDay) * DAY_MS
    : to !== '' && areDays
      ? moment('to', to) + wholeDay
      : undefined;
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs && faults.size === 0) {
    faults.set('from', '“From” must not be after “To”.');
  }
  return { by: by || undefined, kinds: kind === '' ? undefined : [kind], key: key || undefined, sinceMs, untilMs };
}

/** The entries, one sentence each, under a heading for each day. */
function logDays(context: PageContext, entries: readonly LogEntry[]): Html {
  const { nowMs } = context;
  const days = Map.groupBy(entries, ({ atMs }) => Math.floor(atMs / DAY_MS));
  const today = Math.floor(nowMs / DAY_MS);
  return html`${[...days].map(([day, ofDay]) => {
    const lines = ofDay.map(
      (entry) =>
        html`<li><span class="face" aria-hidden="true">${firstLetter(entry.by.replace(/^(admin|backend) (?!\()/, ''))}</span><p><b>${userText(entry.by)}</b> ${whatOf(context, entry)}</p>${day === today ? relativeTime(entry.atMs, nowMs) : clockTime(entry.atMs)}</li>`,
    );
    return html`<section aria-labelledby="day-${day}"><h2 id="day-${day}">${dayTitle(day, today)}</h2><ol class="list log">${lines}</ol></section>`;
  })}`;
}

function dayTitle(day: number, today: number): string {
  if (day >= today - 1) return day === today ? 'Today' : 'Yesterday';
  const date = new Date(day * DAY_MS);
  const isThisYear = date.getUTCFullYear() === new Date(today * DAY_MS).getUTCFullYear();
  return date.toLocaleDateString('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    timeZone: 'UTC',
    ...(!isThisYear && { year: 'numeric' }),
  });
}

/** The sentence of an entry, in which a key's name is a link, followed by the text that a person wrote. */
function whatOf(context: PageContext, { kind, identifier, by, text: alone, written: theirs }: LogEntry): Html {
  // In lower case, because the actor precedes it here.
  const text = alone.charAt(0).toLowerCase() + alone.slice(1);
  const [before = '', ...after] = kind.startsWith('key-') && identifier !== null ? text.split(identifier) : [text];
  const linked =
    after.length === 0 || identifier === null
      ? html`<bdi>${pageSentence(text)}</bdi>`
      : html`${before}${namedKey(context, identifier, by)}${pageSentence(after.join(identifier))}`;
  return html`${linked}${theirs === '' ? '' : html`: <span class="quoted">“${userText(theirs)}”</span>`}`;
}

/** The name of a key as a link, and its owner unless the owner did it; for an erased key, its identifier. */
function namedKey(context: PageContext, identifier: string, by: string): Html {
  const { db } = context.deps;
  const { name, profileId } = readKey(db, identifier);
  const owner = profileId === null ? null : readOwnerById(db, profileId).username;
  const whose = owner === null || by === `owner ${owner}` ? '' : html` of ${userText(owner)}`;
  return html`<a href="${adminKeyPath(context)(identifier)}">${nameOf({ name, identifier })}</a>${whose}`;
}

function filterForm({ to }: PageContext, wanted: Wanted, faults: Faults): Html {
  const option = (name: keyof Wanted, value: string, text: string) =>
    html`<option value="${value}"${raw(value === wanted[name] ? ' selected' : '')}>${text}</option>`;
  const groups = LOG_GROUPS.map(({ group, kinds }) =>
    kinds.length === 1
      ? option('kind', group, group)
      : html`<optgroup label="${group}">${option('kind', group, `all ${group}`)}${kinds.map((kind) => option('kind', kind, kind.replaceAll('-', ' ')))}</optgroup>`,
  );
  const presets = Object.entries(PRESETS).map(([value, { text }]) => option('when', value, text));
  const areDays = wanted.when === '' && wanted.from + wanted.to !== '' ? { ...wanted, when: 'dates' } : wanted;
  const dates = html`<option value="dates"${raw(areDays.when === 'dates' ? ' selected' : '')}>From … to …</option>`;
  const wrong = (name: string) => raw(faults.has(name) ? ' aria-invalid="true"' : '');
  const input = (name: keyof Wanted, label: string, more: Html) =>
    html`<input id="${name}" name="${name}" value="${wanted[name]}" aria-label="${label}" autocomplete="off"${more}${wrong(name)}>`;
  const text = (hint: string) => html` type="search" placeholder="${hint}" autocapitalize="none" spellcheck="false"`;
  return html`<form class="filter" role="search" aria-label="Filter the log" method="get" action="${to(PATH)}" novalidate>
${input('by', 'Who', html`${text('Who, such as owner')} class="wide"`)}${input('key', 'Key', text('Key identifier'))}
<select id="kind" name="kind" aria-label="What"${wrong('kind')}>${option('kind', '', 'Everything')}${groups}</select>
<select id="when" name="when" aria-label="When"${wrong('when')}>${option('when', '', 'Any time')}${presets}${dates}</select>
${input('from', 'From, a UTC date', html` class="dates" type="date"`)}${input('to', 'To, a UTC date, inclusive', html` class="dates" type="date"`)}
<button>Show</button></form>`;
}

function pageLinks({ to }: PageContext, wanted: Wanted, before: string | null, next: string | null): Html {
  if (before === null && next === null) return html``;
  const link = (more: Record<string, string>, text: string) => {
    const filters = Object.entries({ ...wanted, ...more }).filter(([, value]) => value !== '');
    const query = new URLSearchParams(filters).toString();
    return html`<a class="button" href="${to(PATH)}${query === '' ? '' : `?${query}`}">${text}</a>`;
  };
  return html`<nav class="buttons" aria-label="Pages of the log">${before === null ? '' : link({}, 'Newest')}${next === null ? '' : link({ before: next }, 'Older')}</nav>`;
}
