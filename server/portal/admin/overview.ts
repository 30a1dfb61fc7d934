import type { ImportStatus } from '../../../shared/files/status.ts';
import { bytesText, countText, numberText } from '../../../shared/text.ts';
import { countRequests, type Outcomes, USAGE_OUTCOMES } from '../../../shared/usage/outcomes.ts';
import { type NamedKey, OVERVIEW_DAYS, type Overview, readOverview } from '../../../shared/usage/overview.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { factList, keyLink, nameOf } from '../html/key-facts.ts';
import { limitText } from '../html/limit-levels.ts';
import { relativeTime, spanText } from '../html/time.ts';
import { OUTCOME_WORDS, usageChart } from '../html/usage-chart.ts';
import { userText } from '../html/user-text.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

/** `GET /developers/admin/overview`: the usage of the service today and in the last 30 days, and its state. */
export function overview(context: PageContext): Page {
  const nowMs = context.access.clock.nowMs();
  const found = readOverview(context.access, context.services.limits);
  return {
    title: 'Overview',
    body: html`<h1>Overview</h1>
${factList([
  ['Requests for keys', queueFact(context, found.queue, nowMs)],
  ['E-mails', mailsFact(context, found.mails, nowMs)],
  ['Last import', importFact(found.lastImport, nowMs)],
  ...(found.lastFeed === null ? [] : [['Last import by a backend', importFact(found.lastFeed, nowMs)] as const]),
  ['Disk', diskFact(found.disk)],
])}
<h2>API requests</h2>
${outcomeTable(found.days)}
${usageChart(found)}
<h2>Near or at a limit</h2>
${limitedTable(context, found.limited)}
<h2>Busiest keys</h2>
${busiestTable(context, found.busiest)}`,
  };
}

function queueFact(
  { access: { config } }: PageContext,
  { pending, oldestAtMs }: Overview['queue'],
  nowMs: number,
): Html {
  if (oldestAtMs === null) return html`None waiting.`;
  const link = html`<a href="${publicPath(config, '/developers/admin')}">${numberText(pending)} waiting</a>`;
  return html`${link}, the oldest for ${spanText(nowMs - oldestAtMs)}.`;
}

function mailsFact(context: PageContext, { waiting, undelivered }: Overview['mails'], nowMs: number): Html {
  if (undelivered.length === 0) return html`All delivered.`;
  const given = undelivered.length - waiting;
  const counts = [
    ...(waiting === 0 ? [] : [`${numberText(waiting)} to be retried`]),
    ...(given === 0 ? [] : [`${numberText(given)} abandoned in the last 30 days`]),
  ].join(', ');
  const latest = undelivered.slice(-5).toReversed();
  const items = latest.map(({ at, kind, identifier, to, reason }) => {
    const about = identifier === null ? '' : html` about ${keyLink(identifier, adminKeyPath(context))}`;
    return html`<li>${MAIL_WORDS[kind] ?? kind}${about} to ${recipientText(to)}, ${relativeTime(Date.parse(at), nowMs)}${reason === null ? '' : html`: ${userText(reason)}`}</li>`;
  });
  return html`${counts}.<ul class="plain">${items}</ul>`;
}

/** For kinds of mails whose names differ from the words. */
const MAIL_WORDS: Record<string, string> = {
  submission: 'confirmation of a request',
  exposure: 'report of a found secret',
  'new-sign-in': 'new sign-in',
  address: 'changed address',
  enrolment: 'new passkey',
};

/** `owner`, `former address`, `webhook` or `ADMIN_EMAIL`, in words. */
function recipientText(to: string): string {
  return to === 'ADMIN_EMAIL' ? to : `the ${to}`;
}

function importFact(last: ImportStatus | null, nowMs: number): Html {
  if (last === null) return html`None yet.`;
  const { at, by, lines, refused } = last;
  const left = refused === 0 ? '' : `, ${numberText(refused)} of them refused`;
  return html`${relativeTime(Date.parse(at), nowMs)} by ${userText(by)}: ${countText(lines, 'line')}${left}.`;
}

function diskFact(disk: Overview['disk']): Html {
  if (disk === null) return html`Unknown.`;
  const low = disk.isLow
    ? html` <strong>Low disk space: backups, upgrades and purging erased text may fail.</strong>`
    : '';
  return html`${bytesText(disk.freeBytes)} of ${bytesText(disk.totalBytes)} free.${low}`;
}

function outcomeTable(days: Overview['days']): Html {
  const spans = [
    ['Today (UTC)', days.slice(-1)],
    [`Last ${OVERVIEW_DAYS} days`, days],
  ] as const;
  const row = (label: string, count: (day: Outcomes) => number) => {
    const cells = spans.map(
      ([name, some]) =>
        html`<td class="number" data-label="${name}">${numberText(some.reduce((sum, day) => sum + count(day), 0))}</td>`,
    );
    return html`<tr><th scope="row">${label}</th>${cells}</tr>`;
  };
  const heads = spans.map(([name]) => html`<th scope="col" class="number">${name}</th>`);
  const outcomes = USAGE_OUTCOMES.map((outcome) => row(OUTCOME_WORDS[outcome], (day) => day[outcome]));
  return html`<table><thead><tr><th scope="col">Outcome</th>${heads}</tr></thead><tbody>${row('All', countRequests)}${outcomes}</tbody></table>`;
}

function limitedTable(context: PageContext, keys: Overview['limited']): Html {
  if (keys.length === 0) {
    return html`<p>Every key used today has at least a fifth of each limit left, and none was rate-limited.</p>`;
  }
  const rows = keys.map(({ level, refused, ...key }) => {
    const left = `${numberText(level.remaining)} of ${limitText(level)}`;
    return html`<tr>${keyCells(context, key)}<td data-label="Left now">${left}</td><td class="number" data-label="Refused today">${numberText(refused)}</td></tr>`;
  });
  return html`<table><thead><tr>${KEY_HEADS}<th scope="col">Left now</th><th scope="col" class="number">Refused today</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function busiestTable(context: PageContext, keys: Overview['busiest']): Html {
  if (keys.length === 0) return html`<p>No key was used in the last ${String(OVERVIEW_DAYS)} days.</p>`;
  const rows = keys.map(
    ({ requests, today, ...key }) =>
      html`<tr>${keyCells(context, key)}<td class="number" data-label="Today">${numberText(today)}</td><td class="number" data-label="${OVERVIEW_DAYS} days">${numberText(requests)}</td></tr>`,
  );
  return html`<table><thead><tr>${KEY_HEADS}<th scope="col" class="number">Today</th><th scope="col" class="number">${String(OVERVIEW_DAYS)} days</th></tr></thead><tbody>${rows}</tbody></table>`;
}

const KEY_HEADS = html`<th scope="col">Key</th><th scope="col">Profile</th>`;

function keyCells(context: PageContext, { identifier, name, profile }: NamedKey): Html {
  return html`<th scope="row"><a href="${adminKeyPath(context)(identifier)}">${nameOf({ identifier, name })}</a></th><td data-label="Profile">${profile === null ? '–' : userText(profile)}</td>`;
}
