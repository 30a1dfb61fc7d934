import { DAY_MS } from '../../../shared/clock.ts';
import type { Permission } from '../../../shared/db/key-columns.ts';
import { hasSecret } from '../../../shared/keys/key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { limitText } from './limit-levels.ts';
import { relativeTime, timeText } from './time.ts';
import { userText } from './user-text.ts';

// What both owners and admins see of a key.

/** What each permission allows a program to do. */
export const PERMISSION_WORDS: Readonly<Record<Permission, string>> = {
  'api.lookup': 'look up profiles and their links',
  'api.leaderboard': 'read the leaderboard',
};

/** A permission with its meaning: `api.leaderboard: read the leaderboard`. */
export function permissionInWords(permission: Permission): string {
  return `${permission}: ${PERMISSION_WORDS[permission]}`;
}

/** The state of a key as a coloured tag, with a second one if the key is refused although it is Active. */
export function stateTag({ state, refusedFor }: Pick<KeyView, 'state' | 'refusedFor'>): Html {
  const tag = html`<span class="state ${state}">${state}</span>`;
  return refusedFor === null ? tag : html`${tag} <span class="state refused">${REFUSED_WORDS[refusedFor]}</span>`;
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
  const {
    name,
    description,
    projectUrl,
    expectedUsage,
    requestedPermissions,
    requestedAt,
    successorOf,
    addressChangedAt,
  } = key;
  const successor = successorOf === null ? [] : [['Replaces', keyLink(successorOf, linkTo)] as const];
  const changed =
    addressChangedAt === null
      ? []
      : [
          [
            'E-mail address',
            html`changed ${timeText(Date.parse(addressChangedAt))}, after this was requested`,
          ] as const,
        ];
  return [
    ['Name', userText(name)],
    ['Description', userText(description)],
    [
      'Project',
      projectUrl === null ? NOT_GIVEN : project === 'with links' ? projectLink(projectUrl) : userText(projectUrl),
    ],
    ['Usage', expectedUsage === null ? NOT_GIVEN : userText(expectedUsage)],
    ['Asks for', permissionList(requestedPermissions)],
    ['Requested', timeText(Date.parse(requestedAt))],
    ...successor,
    ...changed,
  ];
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
