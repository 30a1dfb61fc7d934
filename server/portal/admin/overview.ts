import type { LastImport } from '../../../shared/profiles/import/report.ts';
import { bytesText, countText, numberText } from '../../../shared/text.ts';
import { OVERVIEW_DAYS, type Overview, readOverview } from '../../../shared/usage/overview.ts';
import { countAnswered, countRequests } from '../../../shared/usage/usage.ts';
import { type Html, html, userText } from '../../html.ts';
import { joined, keyLink, limitText, nameOf } from '../html/key-facts.ts';
import { relativeTime, spanText } from '../html/time.ts';
import { percentText, usageChart } from '../html/usage-chart.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { adminKeyPath, QUEUE_PATH } from './parts.ts';

/** `GET /developers/admin/overview`: the service in three numbers, its last 30 days, and what needs attention. */
export function overview(context: PageContext): Page {
  const { nowMs } = context;
  const found = readOverview(context.deps, context.service.limits);
  const { days, limited, lastImport, lastFeed, mails, disk } = found;
  const state = [
    ...(mails.undelivered.length === 0 ? ['All mails delivered'] : []),
    ...(lastImport === null ? ['Nothing imported yet'] : [importText(lastImport, nowMs)]),
    ...(lastFeed === null ? [] : [importText(lastFeed, nowMs)]),
    ...(disk === null || disk.isLow ? [] : [`${bytesText(disk.freeBytes)} of ${bytesText(disk.totalBytes)} free`]),
  ];
  return {
    title: 'Overview',
    body: html`<div class="head"><h1>Overview</h1><p class="meta">${state.map((one) => html`<span>${one}</span>`)}</p></div>
${disk?.isLow ? html`<p class="note">Low disk space, ${bytesText(disk.freeBytes)} of ${bytesText(disk.totalBytes)} free: backups, upgrades and purging erased text may fail.</p>` : ''}
${undelivered(context, mails, nowMs)}
${figures(context, found)}
${usageChart({ days }, `API requests, last ${OVERVIEW_DAYS} days`)}
${keyLines(context, limited)}`,
  };
}

function figures({ to, nowMs }: PageContext, { queue, days }: Overview): Html {
  const { pending, active, oldestAtMs } = queue;
  const total = days.reduce((sum, day) => sum + countRequests(day), 0);
  const answered = days.reduce((sum, day) => sum + countAnswered(day), 0);
  const card = (name: string, figure: Html | string, note: string) =>
    html`<div class="card"><dt>${name}</dt><dd>${figure}</dd>${note === '' ? '' : html`<dd class="soft">${note}</dd>`}</div>`;
  const waiting = html`<a href="${to(QUEUE_PATH)}">${numberText(pending)}</a>`;
  const oldest = oldestAtMs === null ? 'nothing to decide on' : `the oldest for ${spanText(nowMs - oldestAtMs)}`;
  return html`<dl class="figures">${card('Requests waiting', waiting, oldest)}${card('Active keys', numberText(active), '')}${card(`API requests, ${OVERVIEW_DAYS} days`, numberText(total), total === 0 ? '' : `${percentText(answered, total)} answered`)}</dl>`;
}

function undelivered(context: PageContext, { waiting, undelivered }: Overview['mails'], nowMs: number): Html {
  if (undelivered.length === 0) return html``;
  const given = undelivered.length - waiting;
  const counts = [
    ...(waiting === 0 ? [] : [`${numberText(waiting)} to be tried again`]),
    ...(given === 0 ? [] : [`${numberText(given)} given up in the last 30 days`]),
  ].join(', ');
  const items = undelivered
    .slice(-5)
    .toReversed()
    .map(({ at, kind, identifier, to, reason }) => {
      const about = identifier === null ? '' : html` about ${keyLink(identifier, adminKeyPath(context))}`;
      const recipient = to === 'ADMIN_EMAIL' ? to : `the ${to}`;
      return html`<li>${kind.replaceAll('-', ' ')}${about} to ${recipient}, ${relativeTime(Date.parse(at), nowMs)}${reason === null ? '' : html`: ${userText(reason)}`}</li>`;
    });
  return html`<div class="note"><p>E-mails not delivered: ${counts}.</p><ul>${items}</ul></div>`;
}

function importText({ at, by, lines, refused }: LastImport, nowMs: number): Html {
  const left = refused === 0 ? '' : `, ${numberText(refused)} refused`;
  return html`${countText(lines, 'line')} imported by ${userText(by)} ${relativeTime(Date.parse(at), nowMs)}${left}`;
}

/** The keys that are near or at a limit; empty if there are none. */
function keyLines(context: PageContext, limited: Overview['limited']): Html {
  if (limited.length === 0) return html``;
  const linkTo = adminKeyPath(context);
  const items = limited.map(({ level, refused, ...key }) => {
    const whose = key.profile === null ? [] : [userText(key.profile)];
    const left = `${numberText(level.remaining)} left of ${limitText(level)}`;
    const over = refused === 0 ? '' : html` · <span class="warn">${countText(refused, 'request')} refused today</span>`;
    return html`<li class="key"><div><h3><a href="${linkTo(key.identifier)}">${nameOf(key)}</a></h3><p>${joined([...whose, html`<code>${key.identifier}</code>`])}</p></div><p>${left}${over}</p></li>`;
  });
  return html`<section><h2>Near or at a limit</h2><ul class="list">${items}</ul></section>`;
}
