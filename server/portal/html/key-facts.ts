import { DAY_MS } from '../../../shared/clock.ts';
import type { Permission } from '../../../shared/db/schema.ts';
import { hasEnded, hasSecret } from '../../../shared/keys/key.ts';
import type { ListOutput } from '../../../shared/keys/list.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import type { Level } from '../../../shared/limits/limits.ts';
import { type RateLimit, windowWords } from '../../../shared/limits/rate-limit.ts';
import { detailText, eventWords } from '../../../shared/log.ts';
import { numberText } from '../../../shared/text.ts';
import { type Html, html, userText } from '../../html.ts';
import { pageSentence, relativeTime, timeText } from './time.ts';

// What both owners and admins see of a key.

/** What each permission allows a program to do. */
export const PERMISSION_WORDS: Readonly<Record<Permission, string>> = {
  'api.lookup': 'look up profiles and their links',
  'api.leaderboard': 'read the leaderboard',
};

/** The permissions that a request asks for, in short: `lookup, leaderboard`. */
export function permissionNames({ requestedPermissions }: KeyView): string {
  return requestedPermissions.map((permission) => permission.replace('api.', '')).join(', ');
}

/** The state of a key as a coloured tag, a ring if it may become Active, and why the key is refused although it has that state. */
export function stateTag({ state, refusedFor }: Pick<KeyView, 'state' | 'refusedFor'>): Html {
  const look = state === 'Active' ? 'works' : hasEnded(state) ? 'over' : 'waits';
  const tag = html`<span class="state ${look}">${state}</span>`;
  return refusedFor === null ? tag : html`<span>${tag}<span class="warn">, ${REFUSED_WORDS[refusedFor]}</span></span>`;
}

const REFUSED_WORDS: Record<NonNullable<KeyView['refusedFor']>, string> = { ban: 'refused: profile banned' };

/** How long before its end the expiry of a key is highlighted. */
const SOON_MS = 30 * DAY_MS;

/** When a key with a secret ends: `ends in 19 days`, or `until revoked`. */
export function endText({ expiresAt }: Pick<KeyView, 'expiresAt'>, nowMs: number): Html {
  if (expiresAt === null) return html`until revoked`;
  const atMs = Date.parse(expiresAt);
  const text = html`ends ${relativeTime(atMs, nowMs)}`;
  return atMs - nowMs < SOON_MS ? html`<span class="warn">${text}</span>` : text;
}

/** The parts of a line, separated by middle dots. */
export function joined(parts: readonly (Html | string)[]): Html {
  return html`${parts.map((part, at) => (at === 0 ? html`${part}` : html` · ${part}`))}`;
}

/** An entry of a list of facts: its label and its value. */
export type ShownFact = readonly [label: string, value: Html | string];

/** A list of facts; values that are strings are escaped. */
export function factList(facts: readonly ShownFact[]): Html {
  return html`<dl class="facts">${facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/**
 * The request for a key: what the owner wrote, the permissions and the time. `linkTo` returns the URL of a key's page. The project
 * URL is a link for admins alone: of what people wrote nothing else is.
 */
export function requestFacts(
  key: KeyView,
  linkTo: (identifier: string) => string,
  project: 'with links' | 'as text' = 'as text',
): ShownFact[] {
  const { projectUrl, expectedUsage, successorOf, addressChangedAt } = key;
  const shownUrl = (url: string) => (project === 'with links' ? projectLink(url) : userText(url));
  const facts: ShownFact[] = [
    ['Name', userText(key.name)],
    ['Description', userText(key.description)],
    ['Project', projectUrl === null ? NOT_GIVEN : shownUrl(projectUrl)],
    ['Usage', expectedUsage === null ? NOT_GIVEN : userText(expectedUsage)],
    ['Asks for', permissionList(key.requestedPermissions)],
    ['Requested', timeText(Date.parse(key.requestedAt))],
  ];
  if (successorOf !== null) facts.push(['Replaces', keyLink(successorOf, linkTo)]);
  if (addressChangedAt !== null) {
    const changed = timeText(Date.parse(addressChangedAt));
    facts.push(['E-mail address', html`changed ${changed}, after this was requested`]);
  }
  return facts;
}

function projectLink(url: string): Html {
  return html`<a href="${url}" rel="noreferrer noopener" target="_blank"><bdi>${url.replace(/^https?:\/\//, '').replace(/\/$/, '')}</bdi></a>`;
}

/** What was granted, and until when; empty if nothing was. A key that ended in another way than by expiring has no expiry. */
export function grantFacts({ permissions, rateLimits, decidedAt, expiresAt, state }: KeyView): ShownFact[] {
  if (permissions.length === 0 || decidedAt === null) return [];
  const until = expiresAt === null ? 'never; it works until it is revoked' : timeText(Date.parse(expiresAt));
  return [
    ['May', permissionList(permissions)],
    ['Rate limits', rateLimits.map((limit) => limitText(limit)).join(', ')],
    ['Approved', timeText(Date.parse(decidedAt))],
    ...(hasSecret(state) || state === 'expired' ? [[state === 'expired' ? 'Expired' : 'Expires', until] as const] : []),
  ];
}

/** The name of a key, or its identifier if the name was erased, so that links have some text. */
export function nameOf({ name, identifier }: Pick<KeyView, 'name' | 'identifier'>): Html {
  return userText(name || identifier);
}

/** A key's identifier as a link to its page. */
export function keyLink(identifier: string, linkTo: (identifier: string) => string): Html {
  return html`<a class="mono" href="${linkTo(identifier)}">${identifier}</a>`;
}

const NOT_GIVEN = html`<span class="soft">not given</span>`;

function permissionList(permissions: readonly Permission[]): Html {
  return html`${permissions.map((permission) => PERMISSION_WORDS[permission]).join(', ')}`;
}

/** What is left of each rate limit, with a bar, and when there is more. */
export function levelList(levels: readonly Level[], nowMs: number): Html {
  return html`<ul class="levels">${levels.map((level) => levelItem(level, nowMs))}</ul>`;
}

/** Below this share of a quota, its bar has the colour of a warning. */
const LOW_SHARE = 0.2;

function levelItem(level: Level, nowMs: number): Html {
  const { quota, remaining } = level;
  const look = remaining < quota * LOW_SHARE ? 'level low' : 'level';
  const bar = html`<svg class="${look}" viewBox="0 0 ${quota} 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${remaining}" height="1"/></svg>`;
  return html`<li><p><span${remaining === 0 ? html` class="bad"` : ''}>${levelText(level)}</span><span class="soft">${refillText(level, nowMs)}</span></p>${bar}</li>`;
}

/** What is left of one limit: `2 447 left of 5 000 per day`. */
function levelText({ quota, remaining, windowSeconds }: Level): string {
  return `${numberText(remaining)} left of ${limitText({ quota, windowSeconds })}`;
}

/** A limit in words: `5 000 per day`. */
export function limitText({ quota, windowSeconds }: RateLimit): string {
  return `${numberText(quota)} per ${windowWords(windowSeconds)}`;
}

/** When a limit is full again and, if it is used up, when the next request will be admitted. */
function refillText({ remaining, moreInMs, fullInMs }: Level, nowMs: number): Html {
  if (moreInMs === null || fullInMs === null) return html`unused`;
  const full = html`full ${soonText(fullInMs, nowMs)}`;
  if (remaining > 0) return full;
  const isAtOnce = fullInMs - moreInMs < 1000;
  return html`requests get 429${isAtOnce ? '' : html` · next one possible ${soonText(moreInMs, nowMs)}`} · ${full}`;
}

/** A time from now: in seconds up to a minute, otherwise in its largest unit. */
function soonText(inMs: number, nowMs: number): Html {
  const seconds = Math.ceil(inMs / 1000);
  return seconds <= 60 ? html`in ${Math.max(1, seconds)} s` : relativeTime(nowMs + inMs, nowMs);
}

/** The entry of a key's history that brought the key into its state; undefined for `expired`, of which there is none. */
export function lastMove({ state }: KeyView, history: readonly HistoryView[]): HistoryView | undefined {
  return history.findLast(({ from, to }) => to === state && from !== state);
}

/** The reason of such an entry; empty if it has none, or if it was erased. */
export function reasonOf(move: HistoryView | undefined): Html {
  const reason = move?.detail?.reason;
  return reason === undefined
    ? html``
    : html`<p>The reason:</p><blockquote class="text">${userText(reason)}</blockquote>`;
}

/** A key can be renamed any number of times, and each time adds an entry. */
const MAX_SHOWN = 200;

/** A key's history, a sentence a line, newest first; of a long one only the latest {@link MAX_SHOWN} entries. */
export function historyList(history: readonly HistoryView[], nowMs: number): Html {
  const shown = history.slice(-MAX_SHOWN);
  const rest =
    shown.length === history.length
      ? ''
      : html`<p>The latest ${shown.length} of ${numberText(history.length)} entries:</p>`;
  const rows = shown.map((entry) => {
    const text = detailText(entry);
    // What people wrote is shown as they wrote it.
    const isWritten = entry.event === 'edited' || text === entry.detail?.reason;
    const detail = isWritten ? userText(text) : html`<bdi>${pageSentence(text)}</bdi>`;
    const said = text === '' ? '' : html`: <span class="quoted">${detail}</span>`;
    return html`<li><p>${eventWords(entry.event)}${said} <span class="soft">· ${entry.by}</span></p>${relativeTime(Date.parse(entry.at), nowMs)}</li>`;
  });
  return html`${rest}<ol class="list log">${rows.toReversed()}</ol>`;
}

/** `linkTo` returns the URL of a key's page; `withProfiles` adds each key's profile. */
type KeyList = Pick<ListOutput, 'keys' | 'lastUses'> & {
  linkTo: (identifier: string) => string;
  withProfiles?: boolean;
  nowMs: number;
};

/** A list of keys: name, state, whose it is, and its use. */
export function keyList({ keys, lastUses, linkTo, withProfiles = false, nowMs }: KeyList): Html {
  const rows = keys.map((key) => {
    const { identifier, profile, state, requestedAt, rateLimits } = key;
    const usedAtMs = lastUses.get(identifier);
    const used = usedAtMs === undefined ? 'never used' : html`last used ${relativeTime(usedAtMs, nowMs)}`;
    const about = [
      stateTag(key),
      ...(withProfiles ? [profile === null ? 'erased' : userText(profile)] : []),
      html`requested ${relativeTime(Date.parse(requestedAt), nowMs)}`,
      html`<code>${identifier}</code>`,
    ];
    const use = [
      ...(hasSecret(state) || usedAtMs !== undefined ? [used] : []),
      ...rateLimits.map((limit) => limitText(limit)),
    ];
    return html`<li class="key"><div><h3><a href="${linkTo(identifier)}">${nameOf(key)}</a></h3><p>${joined(about)}</p></div>${use.length === 0 ? '' : html`<p>${joined(use)}</p>`}</li>`;
  });
  return html`<ul class="list">${rows}</ul>`;
}
