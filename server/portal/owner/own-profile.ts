import type { Person } from '../../../shared/actor.ts';
import { hasSecret, KEYS_PER_PROFILE, SLOT_HOLDERS } from '../../../shared/keys/key.ts';
import { countOlder } from '../../../shared/keys/list.ts';
import { type Owner, readOwnerById } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { Level } from '../../../shared/limits/limits.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { countRequests, type UsageView } from '../../../shared/usage/usage.ts';
import { type Html, html, userText } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { endText, limitText } from '../html/key-facts.ts';
import { relativeTime } from '../html/time.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The profile of the signed-in owner. Throws `not_found` if it has just been erased. */
export function ownProfile({ access, person }: PageContext): Owner {
  return readOwnerById(access.db, (person as Extract<Person, { kind: 'owner' }>).profileId);
}

/** The note about a ban: what it means for the keys, and what the owner can still do. Empty if there is none. */
export function bannedNote({ username, banned }: Owner): Html {
  if (!banned) return html``;
  return html`<p class="note">The profile <bdi>${username}</bdi> is banned. Its keys are refused while the ban lasts, and work again when it is lifted. Until then you can look at keys, withdraw requests and revoke keys, but not request or rename any.</p>`;
}

/** Returns a function that makes the path of a key's page for its owner, which includes that of PUBLIC_URL. */
export function ownKeyPath({ access: { config } }: Pick<PageContext, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `/developers/keys/${identifier}`);
}

/** The breadcrumbs of a page: the list of keys and, for a page about one key, that key. */
export function crumbs(context: PageContext, key?: Pick<KeyView, 'identifier' | 'name'>): Html {
  const keys = html`<a href="${publicPath(context.access.config, '/developers/keys')}">API keys</a>`;
  const one =
    key === undefined ? '' : html` / <a href="${ownKeyPath(context)(key.identifier)}">${userText(key.name)}</a>`;
  return html`<nav class="crumbs" aria-label="Breadcrumb"><span>${keys}${one}</span></nav>`;
}

/** Those of a profile's keys that take a slot. */
export function keysInUse(keys: readonly KeyView[]): KeyView[] {
  return keys.filter(({ state }) => SLOT_HOLDERS.some((holder) => holder === state));
}

/** How many slots are taken: `1 of 3 keys used`. */
export function usedText(inUse: readonly KeyView[]): string {
  return `${inUse.length} of ${KEYS_PER_PROFILE} keys used`;
}

/** Whether all slots are taken, so that no key can be requested. */
export function isFull(inUse: readonly KeyView[]): boolean {
  return inUse.length >= KEYS_PER_PROFILE;
}

/** The keys that take the slots, with links to their pages, where they can be ended; `here` is the key of this page. */
export function holderList(context: PageContext, inUse: readonly KeyView[], here?: string): Html {
  const linkTo = ownKeyPath(context);
  const items = inUse.map(({ identifier, name, state }) =>
    identifier === here
      ? html`<li>${userText(name)} (${state}): this key</li>`
      : html`<li><a href="${linkTo(identifier)}">${userText(name)}</a> (${state}): ${state === 'pending' ? 'withdraw it' : 'revoke it'} on its page</li>`,
  );
  return html`<ul>${items}</ul>`;
}

/** The line about a key in the list and under its name: since when it has been waiting, when it was last used and when it ends. */
export function keyMeta({ access }: PageContext, key: KeyView, usedAtMs: number | null): (Html | string)[] {
  const { state, requestedAt, expiresAt } = key;
  const nowMs = access.clock.nowMs();
  const asked = html`requested ${relativeTime(Date.parse(requestedAt), nowMs)}`;
  if (state === 'pending') return [asked, waiting(access, key)];
  const used = usedAtMs === null ? null : html`last used ${relativeTime(usedAtMs, nowMs)}`;
  if (!hasSecret(state)) return [asked, ...(used === null ? [] : [used])];
  return [used ?? 'not used yet', ...(expiresAt === null ? [] : [endText(key, nowMs)])];
}

function waiting(access: PageContext['access'], { identifier }: KeyView): string {
  const older = countOlder(access, identifier);
  return older === 0 ? 'next in line' : `${countText(older, 'request')} ahead of it`;
}

// Explains why a program got 429, because owners often look only when the limit is full again.

/** How many days {@link refusedLately} looks at: today and yesterday (UTC). */
export const REFUSED_DAYS = 2;

/** How many of a key's requests exceeded a limit on one of these days, and how many there were. */
type Refused = { count: number; total: number; day: 'today' | 'yesterday' };

function refusedLately(days: UsageView['days']): Refused | null {
  for (const [day, ago] of [
    ['today', 1],
    ['yesterday', REFUSED_DAYS],
  ] as const) {
    const counts = days.at(-ago);
    if (counts !== undefined && counts.limited > 0) {
      return { count: counts.limited, total: countRequests(counts), day };
    }
  }
  return null;
}

/** For the list of keys: `40 requests got 429 today, over 60 per minute`; null if none did today or yesterday. */
export function refusedInShort(days: UsageView['days'], levels: readonly Level[]): Html | null {
  const refused = refusedLately(days);
  if (refused === null) return null;
  return html`${countText(refused.count, 'request')} got 429 ${refused.day}${overText(levels)}`;
}

/** For the page of a key: how many of its requests got 429, by which limit, and what to do; empty if none did. */
export function refusedNote({ access: { config } }: PageContext, { days }: UsageView, levels: readonly Level[]): Html {
  const refused = refusedLately(days);
  if (refused === null) return html``;
  const { count, total, day } = refused;
  const which = overText(levels) || ', over a rate limit, which each response names';
  const rules = html`<a href="${publicPath(config, '/docs#rate-limits')}">Rate limits</a>`;
  return html`<p class="note warn"><strong>${numberText(count)} of ${countText(total, 'request')} got 429 ${day}${which}.</strong> After a 429, wait for the number of seconds in <code>Retry-After</code>. See ${rules}.</p>`;
}

/** The limits that are used up: `, over 60 per minute and 5 000 per day`; empty if none is any more, unless there is only one. */
function overText(levels: readonly Level[]): string {
  const named = levels.length === 1 ? levels : levels.filter(({ remaining }) => remaining === 0);
  return named.length === 0 ? '' : `, over ${named.map(limitText).join(' and ')}`;
}
